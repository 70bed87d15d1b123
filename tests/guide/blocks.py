"""Every code block of the Mammoth integration guide, in the guide's order and as it stands there."""

from __future__ import annotations

OVERVIEW = "python run_einstellung_experiment.py --model derpp --backbone resnet18 --auto_checkpoint\n"

ARCHITECTURE = """\
einstellung_integration/
├── datasets/
│   ├── seq_cifar100_einstellung.py     # Dataset with patch injection
│   └── configs/seq-cifar100/einstellung.yaml  # Configuration
├── utils/
│   ├── einstellung_metrics.py          # ERI calculation framework
│   ├── einstellung_attention.py        # Attention analysis (ViT)
│   ├── einstellung_evaluator.py        # Plugin-based evaluator
│   └── einstellung_integration.py      # Mammoth integration hooks
├── experiments/
│   └── einstellung_runner.py           # Comprehensive experiment orchestration
└── run_einstellung_experiment.py       # Simple experiment runner
"""

SUPERCLASSES = """\
# Task 1: 8 superclasses (40 fine classes)
T1_SUPERCLASSES = [0, 1, 2, 3, 4, 5, 6, 7]

# Task 2: 4 superclasses (20 fine classes)
T2_SUPERCLASSES = [8, 9, 10, 11]

# Shortcut classes (first 2 superclasses of T2)
SHORTCUT_SUPERCLASSES = [8, 9]  # 10 fine classes
"""

PATCH = '''\
class MagentaPatchInjector:
    def apply_patch(self, img, index):
        """Apply magenta shortcut patch at deterministic location."""
        # Deterministic placement based on image index
        # 4x4 magenta patch (RGB: 255, 0, 255)
'''

CALCULATOR = """\
calculator = EinstellungMetricsCalculator(adaptation_threshold=0.8)

# Add data during training
calculator.add_timeline_data(
    epoch=epoch,
    task_id=task_id,
    subset_accuracies={'T1_all': 0.85, 'T2_shortcut_normal': 0.92, ...},
    subset_losses={'T1_all': 0.45, ...}
)

# Calculate final metrics
metrics = calculator.calculate_comprehensive_metrics()
print(f"ERI Score: {metrics.eri_score}")
"""

ANALYZER = """\
analyzer = EinstellungAttentionAnalyzer(model, device)

# Analyze attention patterns
metrics = analyzer.analyze_einstellung_attention_batch(
    inputs=batch_inputs,
    subset_name='T2_shortcut_normal',
    epoch=epoch
)
"""

EVALUATOR = '''\
class EinstellungEvaluator:
    def meta_begin_task(self, model, dataset):
        """Called at task start"""

    def after_training_epoch(self, model, dataset, epoch):
        """Called after each epoch - core evaluation logic"""

    def meta_end_task(self, model, dataset):
        """Called at task end - comprehensive analysis"""
'''

INTEGRATION = """\
# Enable integration
enable_einstellung_integration(args)

# Automatically hooks into:
# - model.meta_begin_task()
# - model.meta_end_task()
# - After-epoch evaluation
# - Results export
"""

QUICK_START = """\
# Basic experiment
python run_einstellung_experiment.py --model derpp --backbone resnet18

# ViT with attention analysis
python run_einstellung_experiment.py --model ewc_on --backbone vit_base_patch16_224

# Comparative analysis
python run_einstellung_experiment.py --comparative
"""

CONFIGURATION = """\
# datasets/configs/seq-cifar100/einstellung.yaml
dataset: seq-cifar100-einstellung
model: derpp
backbone: resnet18

# Einstellung parameters
einstellung_apply_shortcut: true
einstellung_patch_size: 4
einstellung_patch_color: [255, 0, 255]
einstellung_adaptation_threshold: 0.8
einstellung_evaluation_subsets: true
einstellung_extract_attention: true
"""

PROGRAMMATIC = """\
from utils.einstellung_integration import enable_einstellung_integration
from utils.einstellung_evaluator import create_einstellung_evaluator

# Create experiment args
args = create_experiment_args()

# Enable integration
enable_einstellung_integration(args)

# Run experiment
result = mammoth_main(args)

# Get results
evaluator = get_einstellung_evaluator()
metrics = evaluator.get_final_metrics()
"""

RUNNER = """\
# experiments/einstellung_runner.py
runner = EinstellungExperimentRunner(config)

# Run comprehensive experiments
runner.run_comprehensive_experiment()

# Scenarios: sequential, scratch_t2, interleaved
# Strategies: sgd, ewc_on, derpp
# Seeds: [42, 123, 456, 789, 1011]
"""

STATISTICS = """\
from utils.einstellung_metrics import calculate_cross_experiment_eri_statistics

# Aggregate results across seeds
stats = calculate_cross_experiment_eri_statistics(metrics_list)

# Get mean, std, min, max for each metric
print(f"ERI Score: {stats['eri_score']['mean']:.4f} ± {stats['eri_score']['std']:.4f}")
"""

VISUALIZATION = """\
# For ViT models
analyzer.visualize_einstellung_attention_comparison(
    normal_inputs=t1_inputs,
    shortcut_inputs=t2_shortcut_inputs,
    masked_inputs=t2_masked_inputs,
    save_path='./attention_comparison.png'
)
"""

OUTPUT = """\
einstellung_results/
├── derpp_resnet18_seed42/
│   ├── detailed_results.json           # Complete timeline + metrics
│   ├── einstellung_final_results.json  # Final ERI metrics
│   └── attention_analysis.json         # Attention metrics (ViT only)
└── comprehensive_results.json          # Cross-experiment statistics
"""

DETAILED = """\
{
  "configuration": {...},
  "timeline_data": [...],
  "final_metrics": {
    "adaptation_delay": 15.0,
    "performance_deficit": 0.23,
    "shortcut_feature_reliance": 0.67,
    "eri_score": 0.45
  },
  "attention_analysis": {...}
}
"""

DEBUG = "python run_einstellung_experiment.py --verbose --model sgd\n"

MANUAL = """\
# If automatic integration fails
evaluator = EinstellungEvaluator(args)
evaluator.meta_begin_task(model, dataset)
# ... manual hook calls
"""
