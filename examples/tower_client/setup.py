# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An ordinary ament_python package."""

from setuptools import setup

PACKAGE = 'tower_client'

setup(
    name=PACKAGE,
    version='0.1.0',
    description='A node of another package that has a task planned, proved and executed',
    maintainer='The safegen_ros maintainers',
    maintainer_email='safegen-ros@users.noreply.github.com',
    license='Apache-2.0',
    packages=[PACKAGE],
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    entry_points={'console_scripts': [f'run_tower = {PACKAGE}.run_tower:main']},
)
