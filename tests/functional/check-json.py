#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check reports of tierctl against their schemas.

check-json.py SCHEMA_DIR FILE...: the name of a file begins with the command,
as in status.17.json; events.* hold an object a line.
"""
import json
import pathlib
import sys

import jsonschema


def load(directory):
    """By command.  What is common goes into each: how a reference to another file
    is resolved depends on the library's version."""
    texts = {path.stem: path.read_text().replace('"common.json#/', '"#/')
             for path in directory.glob("*.json")}
    common = json.loads(texts["common"])
    schemas = {}
    for name, text in texts.items():
        schemas[name] = {**json.loads(text), "$defs": common["$defs"]}
        del schemas[name]["$id"]
        jsonschema.Draft202012Validator.check_schema(schemas[name])
    return schemas


def instances(path, command):
    text = path.read_text()
    if command == "events":
        return [json.loads(line) for line in text.splitlines()]
    return [json.loads(text)]


def main():
    directory = pathlib.Path(sys.argv[1])
    schemas = load(directory)
    wrong = 0
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        command = path.name.split(".")[0]
        if command not in schemas or command == "common":
            print(f"{command}: no schema")
            wrong += 1
            continue
        validator = jsonschema.Draft202012Validator(schemas[command])
        try:
            found = instances(path, command)
        except ValueError as error:
            print(f"{path.name}: is no JSON: {error}")
            wrong += 1
            continue
        for instance in found:
            for error in validator.iter_errors(instance):
                where = "/".join(str(word) for word in error.absolute_path)
                print(f"{path.name}: {where}: {error.message[:300]}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
