"""What can go wrong. The texts are those of the command line: ``file:line:column: message (hint)``."""


class ScenarioError(ValueError):
    """A scenario, a topology or a setting is wrong: one line for each problem, the first ten of them."""


class ScenarioNotFoundError(ScenarioError, FileNotFoundError):
    """There is no such file."""


class RunError(RuntimeError):
    """A run's tables cannot be written, or a folder holds no run."""


class ScenarioWarning(UserWarning):
    """A scenario runs, but something about it should be known, such as a theorem's condition that does not hold."""
