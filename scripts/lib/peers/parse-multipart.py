"""Reads a form from standard input and prints its parts as JSON, by an independent parser.

usage: parse-multipart.py email|python-multipart CONTENT-TYPE < body
"""
import hashlib
import json
import sys


def part(name, filename, content_type, content):
    return {
        "name": name,
        "filename": filename,
        "contentType": content_type,
        "length": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def by_email(content_type, body):
    import email.parser
    import email.policy

    text = b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(text)
    if message.defects:
        raise SystemExit(f"defects: {message.defects}")
    for item in message.iter_parts():
        if item.defects:
            raise SystemExit(f"defects: {item.defects}")
        declared = item["Content-Type"]
        yield part(
            item.get_param("name", header="content-disposition"),
            item.get_filename(),
            str(declared) if declared else None,
            item.get_payload(decode=True),
        )


def by_python_multipart(content_type, body):
    try:
        from python_multipart.multipart import MultipartParser, parse_options_header
    except ImportError:
        from multipart.multipart import MultipartParser, parse_options_header

    _, options = parse_options_header(content_type)
    parts, state = [], {}

    def begin():
        state.update(headers={}, field=b"", value=b"", content=[])

    def field(data, start, end):
        state["field"] += data[start:end]

    def value(data, start, end):
        state["value"] += data[start:end]

    def header_end():
        state["headers"][state["field"].lower()] = state["value"]
        state.update(field=b"", value=b"")

    def content(data, start, end):
        state["content"].append(data[start:end])

    def end():
        _, disposition = parse_options_header(state["headers"][b"content-disposition"])
        declared = state["headers"].get(b"content-type")
        name = disposition.get(b"filename")
        parts.append(
            part(
                disposition[b"name"].decode(),
                name.decode() if name is not None else None,
                declared.decode() if declared else None,
                b"".join(state["content"]),
            )
        )

    parser = MultipartParser(
        options[b"boundary"],
        {
            "on_part_begin": begin,
            "on_header_field": field,
            "on_header_value": value,
            "on_header_end": header_end,
            "on_part_data": content,
            "on_part_end": end,
        },
    )
    parser.write(body)
    parser.finalize()
    return parts


if __name__ == "__main__":
    parsers = {"email": by_email, "python-multipart": by_python_multipart}
    print(json.dumps(list(parsers[sys.argv[1]](sys.argv[2], sys.stdin.buffer.read()))))
