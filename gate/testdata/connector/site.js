// A site with a connector, without the HTTP: each line of standard input is one request as JSON, each line of output what
// the site answers. The connector is the real one, as it comes.
'use strict';
const crypto = require('node:crypto');
const readline = require('node:readline');
const { KnownUser, QueueEventConfig, CancelEventConfig } = require('@queue-it/connector-javascript');

const RealDate = Date;
let now; // unix ms: the tests have a clock in hand
global.Date = class extends RealDate {
  constructor(...args) { args.length ? super(...args) : super(now); }
  static now() { return now; }
};

async function answer(r) {
  now = r.now;
  const set = {};
  const context = {
    getHttpRequest: () => ({
      getUserAgent: () => 'test', getHeader: () => '', getAbsoluteUri: () => r.url,
      getUserHostAddress: () => '203.0.113.7', getCookieValue: (name) => r.cookies[name], getRequestBodyAsString: () => '',
    }),
    getHttpResponse: () => ({ setCookie: (name, value, domain, expiration) => { set[name] = expiration * 1000 > now ? value : ''; } }),
    getCryptoProvider: () => ({ getSha256Hash: (key, text) => crypto.createHmac('sha256', key).update(text).digest('hex') }),
    getEnqueueTokenProvider: () => null,
  };
  const token = new URL(r.url).searchParams.get('queueittoken');
  const target = r.url.replace(/([?&])queueittoken=[^&#]*&?/, '$1').replace(/[?&]($|#)/, '$1');
  let result;
  switch (r.action) {
    case 'cancel':
      result = KnownUser.cancelRequestByLocalConfig(target, token, new CancelEventConfig([r.event], r.domain, 'connector', '', true, true, 1, 'test'), r.customer, r.secret, context);
      break;
    case 'extend':
      KnownUser.extendQueueCookie(r.event, 20, '', true, true, r.secret, context);
      return { cookies: set, redirect: null };
    default:
      result = await KnownUser.resolveQueueRequestByLocalConfig(target, token,
        new QueueEventConfig(r.event, null, '', 'en-US', r.domain, 'connector', true, 20, '', true, true, 1, 'test'), r.customer, r.secret, context, null);
  }
  return { cookies: set, redirect: result.doRedirect() ? result.redirectUrl : null, queueId: result.queueId, type: result.redirectType };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + '\n');
  }
})();
