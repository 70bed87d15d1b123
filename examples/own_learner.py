"""Learning without forgetting (Li & Hoiem, 2016): for old classes, answer new images as g does, the net before the phase.
loss = CE(f(x), y) + alpha T^2 KL(softmax(g(x) / T), softmax(f(x) / T)), the latter over the outputs of earlier phases."""

from copy import deepcopy
from dataclasses import dataclass

import torch.nn.functional as F

from einstellung.learners.learner import Learner, learners, option


@dataclass(frozen=True)
class LwFOptions:
    alpha: float = option(1.0, "Li & Hoiem, 2016")
    T: float = option(2.0, "Li & Hoiem, 2016")


@learners.register("lwf")
class LearningWithoutForgetting(Learner):
    Options, old, before = LwFOptions, (), None

    def observe(self, batch):
        with self.context.autocast():
            new, kept = self.net(batch.inputs).float(), self.before and self.before(batch.inputs).float()
        loss = F.cross_entropy(new, batch.labels)
        if self.before:
            f, g = (F.log_softmax(logits[:, self.old] / self.options.T, dim=1) for logits in (new, kept))
            loss += self.options.alpha * self.options.T**2 * F.kl_div(f, g, reduction="batchmean", log_target=True)
        return self.step(loss)

    def end_phase(self, phase):
        self.old, self.before = [*self.old, *phase.classes], deepcopy(self.net).eval().requires_grad_(False)

    def state_dict(self):  # so that an interrupted run goes on where it stopped
        return {"old": self.old, "before": self.before.state_dict()} if self.before else {}

    def load_state_dict(self, state):
        if state:
            self.old, self.before = state["old"], deepcopy(self.net).eval().requires_grad_(False)
            self.before.load_state_dict(state["before"])
