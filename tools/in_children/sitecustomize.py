"""Python imports this at its start if its folder is on the path: children of tests note, too."""

from tools.reaching import start

start()
