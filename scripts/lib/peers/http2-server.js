// Answers every request over HTTP/2 with the length of its body and the number of its connection, on a
// free port of the loopback.
//
// usage: node http2-server.js CERTIFICATE KEY     stops when its standard input ends
const fs = require('fs');
const http2 = require('http2');

let connections = 0;
const server = http2.createSecureServer({
  cert: fs.readFileSync(process.argv[2]),
  key: fs.readFileSync(process.argv[3]),
});
server.on('session', (session) => { session.number = ++connections; session.on('error', () => {}); });
server.on('stream', (stream) => {
  let length = 0;
  stream.on('data', (chunk) => { length += chunk.length; });
  stream.on('error', () => {});
  stream.on('end', () => {
    stream.respond({ ':status': 200 });
    stream.end(`${length} ${stream.session.number}`);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
