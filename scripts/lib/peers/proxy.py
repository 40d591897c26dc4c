"""A proxy of HTTP on a free port of the loopback: it takes CONNECT alone, and each name is this machine's.

It stops when its standard input ends.
"""
import http.server
import os
import select
import socket
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def do_CONNECT(self):
        with socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2]))) as server:
            self.send_response(200)
            self.end_headers()
            other = {self.connection: server, server: self.connection}
            while True:
                for end in select.select(list(other), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    other[end].sendall(data)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
os._exit(0)
