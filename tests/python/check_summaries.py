"""Holds summaries of runs to the JSON schema: check_summaries.py docs/summary.schema.json summary.json ...

    pip install jsonschema
"""

import json
import sys

import jsonschema


def main(schema, *summaries):
    with open(schema, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in summaries:
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
        # Of its own kind alone, so that the message is about the key at fault.
        own = {**schema, "oneOf": [{"$ref": "#/$defs/" + summary["physics"]}]}
        errors = list(jsonschema.Draft202012Validator(own).iter_errors(summary))
        texts = [f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message}" for error in errors]
        assert not errors, "\n".join(texts)
        jsonschema.validate(summary, schema)
        # A key that the schema does not know must fail, wherever it stands.
        for part in [summary, *(value for value in summary.values() if isinstance(value, dict) and value)]:
            if part is summary.get("reaction"):
                continue
            part["no such key"] = 1
            try:
                jsonschema.validate(summary, schema)
            except jsonschema.ValidationError:
                del part["no such key"]
                continue
            raise AssertionError(f"{path}: a key that does not exist passes: the schema would fall behind")


if __name__ == "__main__":
    main(*sys.argv[1:])
