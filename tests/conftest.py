"""Settings for all tests."""

import signal

from hypothesis import settings

# A kernel's first call compiles it, which no deadline can foresee.
settings.register_profile("recrawl", deadline=None)
settings.load_profile("recrawl")

# Under nohup, or in the background, programs that tests start would ignore these as well.
for _number, _usual in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)
