"""`driver.active`: the devices that launches go to where no array decides."""

from ..backends import backends
from ..backends.driver import DriverBase


class DriverConfig:
    def __init__(self):
        self._default = None
        self._active = None

    @property
    def default(self):
        if self._default is None:
            self._default = next(
                each.driver for each in backends.values() if each.driver.is_active()
            )()
        return self._default

    @property
    def active(self):
        return self._active or self.default

    def set_active(self, driver):
        """`driver` answers questions about devices from now on. Launches go where their arrays are."""
        self._active = driver

    def reset_active(self):
        self._active = None


driver = DriverConfig()
