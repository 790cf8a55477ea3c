"""The paper's own training: gates, objective, one network, and the sweep over its strengths."""

from ieql.training.paper.settings import PaperSettings

__all__ = ["PaperSettings"]
