"""Print pip constraints for the oldest version that setup.cfg allows of each requirement."""

import configparser
import re
from pathlib import Path

settings = configparser.ConfigParser()
settings.read(Path(__file__).parents[1] / "setup.cfg")
for requirement in settings["options"]["install_requires"].strip().splitlines():
    if not requirement.startswith("#"):
        name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,.*)?", requirement.strip()).groups()
        print(f"{name}=={version}")
