# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The suction pump of the Pi model, on two pins of the Pi and not on the arm's firmware.

Vendor's wiring, pins as BCM numbers: 20 low runs the pump; 21 low opens the valve that lets air in.
"""

from __future__ import annotations

import time
from typing import Any

from safegen_ros.errors import RobotError

PUMP_PIN = 20
VALVE_PIN = 21
#: The valve stays open this long after the pump is off, so that the block lets go [s].
VENT_S = 1.0


class GpioPump:
    """Pump and valve on the pins of this computer; both are off when it is made.

    It is an `Effector` of `MyCobot`.
    """

    def __init__(self) -> None:
        try:
            from gpiozero import OutputDevice

            self._pump: Any = OutputDevice(PUMP_PIN, active_high=False)
            self._valve: Any = OutputDevice(VALVE_PIN, active_high=False)
        except Exception as error:  # gpiozero raises what its pin libraries raise
            raise RobotError(
                f'the pump on the pins {PUMP_PIN} and {VALVE_PIN} cannot be used: {error}: on a '
                'Raspberry Pi install gpiozero and lgpio; elsewhere the tool is not gpio-pump'
            ) from error

    def switch(self, on: bool) -> None:
        """Runs the pump, or ends it and lets air in for a second."""
        if on:
            self._valve.off()
            self._pump.on()
            return
        self._pump.off()
        self._valve.on()
        time.sleep(VENT_S)
        self._valve.off()
