"""What the bundle raises.

The server shows users the message of a `RuntimeError` and hides that of a foreign exception, so everything here is one.

    BundleError
    ├── ConfigError       a variable or a file is wrong; the message names it
    ├── BrowserError      a page does not do what was asked
    │   └── NoBrowser     there is no Chromium, or it does not start: the run cannot go on
    ├── ComputerError     a screen does not do what was asked
    │   └── NoComputer    what a computer is made of is missing or does not start: the run cannot go on
    ├── Refused           an address or a file name that is out of bounds
    ├── ExpertError       an MCP server does not start or does not answer
    └── ModelError        the model's provider failed
"""


class BundleError(RuntimeError):
    """Whatever went wrong in the bundle; its message says what to do."""


class ConfigError(BundleError):
    """A setting is wrong."""


class BrowserError(BundleError):
    """The browser did not do what was asked."""


class NoBrowser(BrowserError):
    """There is no browser to use."""


class ComputerError(BundleError):
    """The computer did not do what was asked."""


class NoComputer(ComputerError):
    """There is no computer to use."""


class Refused(BundleError):
    """What was asked for is out of bounds."""


class ExpertError(BundleError):
    """An expert cannot be used."""


class ModelError(BundleError):
    """The model's provider failed."""
