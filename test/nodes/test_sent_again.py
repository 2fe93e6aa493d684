# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a process could not take in while it was held up is sent to it again, and soon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import String
from support.waiting import wait_until

from safegen_ros.client import Client
from safegen_ros.ros import qos
from safegen_ros.ros.stack_state import environment_defaults

SOON_S = 1.0
"""Our writers ask after 0.2 s, those of Fast DDS with its defaults after 3 s."""

FLOOD = 1500
"""Of half a kilobyte each: far more than the socket of a process holds."""

ROUNDS = 4

READER = """
import rclpy
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import String
from safegen_ros.ros import qos

rclpy.init()
node = rclpy.create_node('reader')
node.create_subscription(String, 'flood', lambda message: None, qos_profile_sensor_data)
node.create_subscription(String, 'answer', lambda m: print(m.data, flush=True), qos.EVENTS)
print('up', flush=True)
rclpy.spin(node)
"""


def test_what_was_lost_while_a_process_was_held_up_is_sent_again_soon(ros_domain: int) -> None:
    reader = subprocess.Popen(
        [sys.executable, '-c', READER],
        env=os.environ | environment_defaults(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    late = []
    try:
        assert reader.stdout.readline() == 'up\n'
        with Client() as client:
            flood = client.node.create_publisher(String, 'flood', qos_profile_sensor_data)
            answer = client.node.create_publisher(String, 'answer', qos.EVENTS)
            for publisher in (flood, answer):
                wait_until(lambda p=publisher: p.get_subscription_count() == 1, 'the reader')
            for number in range(ROUNDS):
                reader.send_signal(signal.SIGSTOP)
                for _ in range(FLOOD):
                    flood.publish(String(data='.' * 500))
                answer.publish(String(data=str(number)))
                begun = time.monotonic()
                reader.send_signal(signal.SIGCONT)
                assert reader.stdout.readline() == f'{number}\n'
                late.append(time.monotonic() - begun)
    finally:
        reader.kill()
        reader.wait()
    # The shortest, as the machine may be busy.
    assert min(late) < SOON_S, late
