# SPDX-License-Identifier: BSD-3-Clause
import signal

# A shell lets its programs in the background ignore SIGINT. All processes of the tests would inherit that from pytest.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
