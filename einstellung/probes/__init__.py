"""Questions to a trained model."""
