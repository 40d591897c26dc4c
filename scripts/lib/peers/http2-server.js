// Answers every request over HTTP/2, or HTTP/1.1 where the client offers nothing newer, with the length of its body and the
// number of its connection, on a free port of the loopback.
//
// usage: node http2-server.js CERTIFICATE KEY     stops when its standard input ends
const fs = require('fs');
const http2 = require('http2');

let connections = 0;
const server = http2.createSecureServer({
  allowHTTP1: true,
  cert: fs.readFileSync(process.argv[2]),
  key: fs.readFileSync(process.argv[3]),
});
server.on('secureConnection', (socket) => { socket.number = ++connections; });
server.on('sessionError', () => {});
server.on('request', (request, response) => {
  const number = (request.stream?.session?.socket ?? request.socket).number;
  let length = 0;
  request.on('data', (chunk) => { length += chunk.length; });
  request.on('error', () => {});
  request.on('end', () => { response.end(`${length} ${number}`); });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
