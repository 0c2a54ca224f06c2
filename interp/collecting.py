"""Python's search for cycles of objects, put off while much is made that is there to stay."""
from __future__ import annotations

import gc


class Uncollected:
    """No search while this lasts, and none of what was made meanwhile until the next search of everything.

    Imports and the loading of a model make objects by the ten thousand, and next to none of them goes; to look through them
    time and again takes a tenth of a small model's start.
    """

    def __enter__(self) -> None:
        self._collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if not self._collecting:
            return
        if not gc.get_freeze_count():  # else the program has frozen objects of its own, which are to stay so
            gc.freeze()
            gc.unfreeze()  # all there is counts as old now
        gc.enable()
