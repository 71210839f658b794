// A waiting room at the edge: a worker for CDNs that run JavaScript with the Web's standard APIs. It lets a request with a
// valid pass through on the public keys alone, asks /v1/authorize otherwise, and does what that says.
//
// Settings (env):
//   SLUICE_URL     where Sluice is, its --public-url (https://queue.example)
//   ITEM_PATTERNS  the --item-pattern of the nodes, comma-separated (/product/{item},/sale=bf); pages that none of them
//                  names are let through by asking alone
//   FAIL_OPEN      "true": while Sluice cannot be reached, visitors without a pass get in; else they are told to come back
//   ORIGIN         where the site is, if it is not where the request goes anyway (https://origin.internal)
const CLOCKS = { iat: 30, exp: 5 }; // s by which the clocks of signer and verifier may differ
const TAKE = 60; // s: the age up to which a pass is taken from an address
const KEEP_KEYS = 300; // s
const RETRY_KEYS = 60; // s: at most one fetch a minute for a key that is not known
const PATIENCE = 2000; // ms

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const item = itemOf(url.pathname, env.ITEM_PATTERNS);
    const now = Date.now() / 1000;

    const brought = url.searchParams.get('sluice_pass');
    if (brought && (request.method === 'GET' || request.method === 'HEAD')) {
      const pass = item && await verify(brought, item, env, now);
      const headers = new Headers({ Location: withoutPass(url), 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
      if (pass && now - pass.iat <= TAKE) headers.append('Set-Cookie', cookie(item, brought, pass, now, url));
      return new Response(null, { status: 302, headers });
    }

    const held = item && cookieOf(request, cookieName(item));
    const pass = held && await verify(held, item, env, now);
    if (pass && now < (pass.iat + pass.exp) / 2) return origin(request, env, held); // the second half of its life is for renewal

    const said = await authorize(request, url, item, pass && held, env);
    if (!said) return pass || env.FAIL_OPEN === 'true' ? origin(request, env, pass && held) : away();
    if (said.status === 204) {
      const fresh = said.headers.get('Sluice-Pass');
      const response = await origin(request, env, fresh);
      const renewed = fresh && fresh !== held && item && await verify(fresh, item, env, now);
      return withCookies(response, [...said.headers.getSetCookie(), ...(renewed ? [cookie(item, fresh, renewed, now, url)] : [])]);
    }
    if (said.status !== 401) return new Response(null, { status: said.status, headers: { 'Cache-Control': 'no-store' } });
    return refusal(said, navigates(request));
  },
};

// itemOf gives the item of a path by the rules of --item-pattern. What they leave in doubt is null: Sluice is asked.
function itemOf(path, patterns = '') {
  let plain;
  try {
    plain = decodeURIComponent(path).replace(/\\/g, '/').replace(/;[^/]*/g, '').replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
  } catch {
    return null;
  }
  if (/[\0%]|\/\.{1,2}(\/|$)/.test(plain)) return null;
  for (const pattern of patterns.split(',').map((p) => p.trim()).filter(Boolean)) {
    const exact = pattern.startsWith('case:');
    const fold = (s) => (exact ? s : s.replace(/[A-Z]/g, (c) => c.toLowerCase())); // ASCII alone, as the nodes do
    const [form, name] = pattern.replace(/^case:/, '').split('=');
    const at = fold(plain);
    const [before, after] = fold(form).split('{item}');
    if (after === undefined) {
      if (at === before) return name;
      continue;
    }
    const item = at.slice(before.length, at.length - after.length);
    if (at.startsWith(before) && at.endsWith(after) && item && !item.includes('/')) return written(item);
  }
  return null;
}

// written writes what is outside an item's alphabet as ~XX; null where that is too long to be told here.
function written(text) {
  let item = '';
  for (const byte of new TextEncoder().encode(text)) {
    const c = String.fromCharCode(byte);
    item += /[A-Za-z0-9._:@-]/.test(c) ? c : '~' + byte.toString(16).toUpperCase().padStart(2, '0');
  }
  return item.length <= 128 ? item : null;
}

// verify gives the claims of a pass for an item, or null. The algorithm is fixed; the token only names the key.
async function verify(token, item, env, now) {
  const parts = token.split('.');
  if (parts.length !== 3 || token.length > 4096) return null;
  try {
    const header = JSON.parse(text(parts[0]));
    const claims = JSON.parse(text(parts[1]));
    if (header.alg !== 'EdDSA' || claims.aud !== item || claims.iss !== env.SLUICE_URL.replace(/\/$/, '')) return null;
    if (!(claims.iat <= now + CLOCKS.iat) || !(now < claims.exp + CLOCKS.exp)) return null;
    const key = await keyOf(header.kid, env, now);
    const signed = new TextEncoder().encode(parts[0] + '.' + parts[1]);
    return key && await crypto.subtle.verify('Ed25519', key, bytes(parts[2]), signed) ? claims : null;
  } catch {
    return null; // not a token of ours
  }
}

const keys = { url: '', at: 0, tried: 0, byID: new Map() };

// keyOf gives a public key. Keys that are known hold on while Sluice is away.
async function keyOf(kid, env, now) {
  if (keys.url !== env.SLUICE_URL) Object.assign(keys, { url: env.SLUICE_URL, at: 0, tried: 0, byID: new Map() });
  const stale = now - keys.at > KEEP_KEYS || !keys.byID.has(kid);
  if (stale && now - keys.tried > RETRY_KEYS) {
    keys.tried = now;
    try {
      const response = await ask(env.SLUICE_URL + '/.well-known/jwks.json', {});
      const byID = new Map();
      for (const jwk of (await response.json()).keys) {
        if (jwk.kty === 'OKP' && jwk.crv === 'Ed25519') {
          byID.set(jwk.kid, await crypto.subtle.importKey('jwk', { kty: 'OKP', crv: 'Ed25519', x: jwk.x }, 'Ed25519', false, ['verify']));
        }
      }
      Object.assign(keys, { at: now, byID });
    } catch { /* those we have go on */ }
  }
  return keys.byID.get(kid);
}

// authorize asks Sluice about a request; null where there is no answer.
async function authorize(request, url, item, pass, env) {
  const headers = new Headers();
  for (const name of ['Sluice-Visitor', 'Sluice-Ticket', 'Sluice-Pass', 'Cookie', 'Accept', 'Accept-Language', 'User-Agent', 'Range', 'Origin', 'X-Requested-With', 'Sec-Fetch-Mode', 'Sec-Fetch-Dest', 'Sec-Purpose', 'Purpose', 'Traceparent', 'Tracestate']) {
    if (request.headers.has(name)) headers.set(name, request.headers.get(name));
  }
  headers.set('X-Original-URI', url.pathname + url.search);
  headers.set('X-Original-Method', request.method);
  headers.set('X-Forwarded-Host', url.host);
  headers.set('X-Forwarded-Proto', url.protocol.slice(0, -1));
  if (pass) headers.set('Sluice-Pass', pass);
  try {
    const said = await ask(env.SLUICE_URL + '/v1/authorize', { headers, redirect: 'manual' });
    // What a visitor brings about, such as a header that is too long, is no outage.
    return [204, 401, 400, 413, 414, 429, 431].includes(said.status) ? said : null;
  } catch {
    return null;
  }
}

function ask(address, init) {
  return fetch(address, { ...init, signal: AbortSignal.timeout(PATIENCE) });
}

// navigates reports whether a browser opens a page, as far as the request tells; a call of a script says that it is one.
function navigates(request) {
  const mode = request.headers.get('Sec-Fetch-Mode');
  return !(mode && mode !== 'navigate') && !request.headers.has('X-Requested-With') && !(request.headers.get('Accept') || '').includes('application/json');
}

// refusal hands on what Sluice says: a page that is opened goes to the waiting page, a call of a script is told.
function refusal(said, page) {
  const headers = new Headers({ 'Cache-Control': 'no-store' });
  for (const name of ['Location', 'Sluice-Action', 'Sluice-Reason', 'Vary', 'Access-Control-Allow-Origin', 'Access-Control-Allow-Credentials', 'Access-Control-Expose-Headers']) {
    if (said.headers.has(name)) headers.set(name, said.headers.get(name));
  }
  for (const line of said.headers.getSetCookie()) headers.append('Set-Cookie', line);
  return new Response(null, { status: page && headers.has('Location') ? 302 : 401, headers });
}

function away() {
  return new Response('The waiting room cannot be reached. Please try again in a moment.\n', {
    status: 503, headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Retry-After': '5', 'Cache-Control': 'no-store' },
  });
}

// origin hands a request on. The site hears of passes from here alone, in the header Sluice-Pass.
function origin(request, env, pass) {
  const url = new URL(request.url);
  const on = new Request(env.ORIGIN ? env.ORIGIN.replace(/\/$/, '') + url.pathname + url.search : request.url, request);
  on.headers.delete('Sluice-Pass');
  if (pass) on.headers.set('Sluice-Pass', pass);
  return fetch(on, { redirect: 'manual' });
}

// withCookies adds cookies to an answer, which is then one visitor's and nobody else's.
function withCookies(response, lines) {
  if (lines.length === 0) return response;
  const own = new Response(response.body, response);
  for (const line of lines) own.headers.append('Set-Cookie', line);
  own.headers.set('Cache-Control', 'no-store');
  return own;
}

// withoutPass is the address to which a visitor who brought a pass goes on: the same site, everything else as it was.
function withoutPass(url) {
  const rest = url.search.slice(1).split('&').filter((part) => part.split('=')[0] !== 'sluice_pass').join('&');
  return url.origin + url.pathname + (rest ? '?' + rest : '');
}

function cookieName(item) {
  return 'sluice_pass_' + item.replace(/[:@]/g, (c) => '~' + c.charCodeAt(0).toString(16).toUpperCase());
}

function cookie(item, token, pass, now, url) {
  return `${cookieName(item)}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${Math.max(1, Math.floor(pass.exp - now))}${url.protocol === 'https:' ? '; Secure' : ''}`;
}

function cookieOf(request, name) {
  for (const part of (request.headers.get('Cookie') || '').split(';')) {
    const [key, ...value] = part.trim().split('=');
    if (key === name) return value.join('=');
  }
  return null;
}

function bytes(base64url) {
  return Uint8Array.from(atob(base64url.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
}

function text(base64url) {
  return new TextDecoder().decode(bytes(base64url));
}
