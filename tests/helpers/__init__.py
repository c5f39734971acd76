# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests share: targets, the program under test, its output, the machine."""
