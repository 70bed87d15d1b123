"""Learning without forgetting (Li & Hoiem, 2016): on new images, keep the old net's answers for the old classes.

    loss = CE(f(x), y) + alpha T^2 KL(softmax(g(x) / T), softmax(f(x) / T))

f is the net, g a frozen copy of it from before the phase; KL is over the outputs of earlier phases. The method is a loss, so
it overrides ``objective``. A method that changes the step itself (several updates, other gradients) overrides ``observe``.
"""

from copy import deepcopy
from dataclasses import dataclass

import torch.nn.functional as F

from einstellung.learners.learner import Learner, learners, option


@dataclass(frozen=True)
class LwFOptions:
    alpha: float = option(1.0, "Li & Hoiem, 2016")
    T: float = option(2.0, "Li & Hoiem, 2016")


@learners.register("own_lwf")
class LearningWithoutForgetting(Learner):
    Options = LwFOptions

    old_classes: tuple[int, ...] = ()  # outputs that earlier phases trained
    before = None  # the net as it was before this phase; None in the first one

    def objective(self, batch):
        """The loss of one batch; the base class does the backward pass and the update."""
        with self.context.autocast():
            logits = self.net(batch.inputs).float()
        loss = F.cross_entropy(logits, batch.labels)
        if self.before is not None:
            loss = loss + self.options.alpha * self.distillation(logits, batch.inputs)
        return loss

    def distillation(self, logits, inputs):
        """How far the answers for old classes have moved from those before the phase."""
        with self.context.autocast():
            targets = self.before(inputs).float()
        classes, temperature = list(self.old_classes), self.options.T
        now = F.log_softmax(logits[:, classes] / temperature, dim=1)
        then = F.log_softmax(targets[:, classes] / temperature, dim=1)
        return temperature**2 * F.kl_div(now, then, reduction="batchmean", log_target=True)

    def end_phase(self, phase):
        self.old_classes = (*self.old_classes, *phase.classes)
        self.before = self.frozen_copy()

    def frozen_copy(self):
        return deepcopy(self.net).eval().requires_grad_(False)

    def state_dict(self):
        """What an interrupted run needs in order to resume."""
        if self.before is None:
            return {}
        return {"old_classes": list(self.old_classes), "before": self.before.state_dict()}

    def load_state_dict(self, state):
        if state:
            self.old_classes = tuple(state["old_classes"])
            self.before = self.frozen_copy()
            self.before.load_state_dict(state["before"])
