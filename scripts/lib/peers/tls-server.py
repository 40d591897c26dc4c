"""Answers every request over TLS with the length of its body, on a free port of the loopback.

usage: tls-server.py CERTIFICATE KEY [--greatest TLS-VERSION] [--ciphers LIST] [--clients-of AUTHORITY]

It stops when its standard input ends. With an authority it answers only clients that have a certificate of it.
"""
import argparse
import http.server
import os
import ssl
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        answer = str(len(body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("certificate")
    parser.add_argument("key")
    parser.add_argument("--greatest")
    parser.add_argument("--ciphers", default="ALL:@SECLEVEL=0")
    parser.add_argument("--clients-of")
    given = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(given.certificate, given.key)
    if given.greatest:
        context.set_ciphers(given.ciphers)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion[given.greatest]
    if given.clients_of:
        context.load_verify_locations(given.clients_of)
        context.verify_mode = ssl.CERT_REQUIRED
    server = Server(("127.0.0.1", 0), Handler)
    # The handshake is left to the connection's own thread, so that a refusing client blocks no other.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    os._exit(0)


main()
