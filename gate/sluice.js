/*! Sluice, Apache-2.0. <script src="…/sluice.js" data-item="sku-1"></script> on a product page: it asks whether the visitor
    may be here, and leads to the waiting page when not. It is the sign at the door; the lock is the origin's own check, so
    where this script or the service cannot be reached the page stays as it is. Also sluice.check(item), sluice.enter(item),
    sluice.finish(item). */
(function () {
  'use strict';
  var script = document.currentScript;
  var base = new URL('.', script ? script.src : location.href).href;
  var patience = 5000; // ms

  // What a visitor takes along where the browser keeps no cookies of ours here. It stays with this site.
  function key(name) { return 'sluice ' + base + ' ' + name; }
  var kept = {}; // for this page, where the browser keeps nothing
  function get(name) { try { return localStorage.getItem(key(name)); } catch (e) { return kept[name]; } }
  function set(name, value) {
    kept[name] = value;
    try {
      if (value) { localStorage.setItem(key(name), value); } else { localStorage.removeItem(key(name)); }
    } catch (e) { /* a browser that keeps nothing: cookies may do */ }
  }

  // The waiting page brings the pass back in the address, from where it goes at once.
  function takePass(item) {
    var url = new URL(location.href), token = url.searchParams.get('sluice_pass');
    if (!token) { return; }
    try {
      var said = JSON.parse(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')));
      if (said.aud !== item) { return; }
      set('visitor', null); // the pass alone says who this is; with another's token it would be ignored
      set('pass ' + item, token);
    } catch (e) { return; }
    var rest = url.search.slice(1).split('&').filter(function (p) { return p.split('=')[0] !== 'sluice_pass'; }).join('&');
    history.replaceState(history.state, '', url.origin + url.pathname + (rest ? '?' + rest : '') + url.hash);
  }

  function call(method, item, path) {
    var headers = { Accept: 'application/json' };
    var visitor = get('visitor'), pass = get('pass ' + item);
    if (visitor) { headers['Sluice-Visitor'] = visitor; }
    if (pass) { headers['Sluice-Pass'] = pass; }
    var stop = new AbortController(), timer = setTimeout(function () { stop.abort(); }, patience);
    return fetch(base + 'v1/items/' + encodeURIComponent(item) + path, {
      method: method, headers: headers, credentials: 'include', cache: 'no-store', signal: stop.signal
    }).finally(function () { clearTimeout(timer); });
  }

  // check gives the answer of the visitor API; it fails where there is none.
  function check(item) {
    takePass(item);
    return call('POST', item, '/check?return=' + encodeURIComponent(location.href)).then(function (r) {
      if (!r.ok) { throw new Error('sluice: ' + r.status); }
      return r.json();
    }).then(function (a) {
      // Only another site has to remember: on the same one the cookie does, and it is renewed by itself.
      if (new URL(base).hostname !== location.hostname) {
        set('visitor', a.visitor);
        set('pass ' + item, a.pass && a.pass.token);
      }
      return a;
    });
  }

  // enter checks, and leads a visitor who may not be here to the waiting page. It gives the answer, or null where there is
  // none; it never fails.
  function enter(item) {
    return check(item).then(function (a) {
      if (a.action !== 'pass') {
        location.replace(a.place && a.place.wait_url ||
          base + 'wait/' + encodeURIComponent(item) + '?return=' + encodeURIComponent(location.href));
      }
      return a;
    }).catch(function () { return null; });
  }

  // finish ends the session early: the order is placed.
  function finish(item) {
    return call('POST', item, '/finish').then(function (r) { set('pass ' + item, null); return r.ok; }, function () { return false; });
  }

  window.sluice = { check: check, enter: enter, finish: finish };
  if (script && script.dataset.item) { enter(script.dataset.item); }
})();
