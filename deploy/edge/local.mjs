// The worker as a server of its own, to try it out and to test it: PORT=8788 SLUICE_URL=… node local.mjs. It prints where it
// listens.
import http from 'node:http';
import worker from './worker.js';

const env = process.env;
http.createServer(async (req, res) => {
  const body = req.method === 'GET' || req.method === 'HEAD' ? undefined : await new Response(req).arrayBuffer();
  const headers = new Headers();
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    if (!/^(connection|keep-alive|transfer-encoding|upgrade|expect)$/i.test(req.rawHeaders[i])) headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
  }
  const response = await worker.fetch(new Request('http://' + req.headers.host + req.url, { method: req.method, headers, body }), env);
  for (const [name, value] of response.headers) {
    if (!/^(set-cookie|content-encoding|content-length|transfer-encoding|connection)$/i.test(name)) res.setHeader(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length) res.setHeader('Set-Cookie', cookies);
  res.writeHead(response.status);
  res.end(Buffer.from(await response.arrayBuffer()));
}).listen(Number(env.PORT || 8788), '127.0.0.1', function () { console.log(`http://127.0.0.1:${this.address().port}`); });
