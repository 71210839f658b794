(function () {
  'use strict';
  var s = JSON.parse(document.getElementById('state').textContent), w = s.words;
  var rules = window.Intl && Intl.PluralRules ? new Intl.PluralRules(w.lang) : { select: function () { return 'other'; } };
  var timer, busy = false, over = false, troubles = 0, asked = 0, woke = Date.now();
  var bare = true;   // the cookie is tried first, since it is renewed with every answer; the page's own tokens where none is kept
  var kept = !s.visitor; // the browser keeps it
  var stream = null, streamless = false, until = s.after_ms;
  var said = 0, sayEvery = 60000;

  function el(id) { return document.getElementById(id); }
  function put(id, text) { var e = el(id); if (e && e.textContent !== text) { e.textContent = text; } }
  function show(id, on) { var e = el(id); if (e) { e.hidden = !on; } }
  function remember(key, value) { try { localStorage.setItem('sluice ' + key, value); } catch (e) { /* keeps nothing */ } }
  function recall(key) { try { return localStorage.getItem('sluice ' + key); } catch (e) { return null; } }

  // The clock of the line: the visitor's own may be wrong, and stands still while the machine sleeps.
  var ahead = s.now_ms - Date.now();
  function now() { return Date.now() + ahead; }
  function time(ms, options) {
    try { return new Date(ms).toLocaleString(w.lang, options); } catch (e) { return new Date(ms).toISOString(); }
  }
  function hour(ms) { return time(ms, { hour: 'numeric', minute: '2-digit', second: '2-digit' }); }

  function number(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, w.separator); }
  function count(forms, n, low) {
    return (forms[rules.select(n)] || forms.other).replace('{n}', number(n)).replace('{low}', number(low));
  }
  function waits(low, high) {
    if (high === null) { return w.unknown; }
    if (high < 60) { return w.soon; }
    var hours = high >= 14400, unit = hours ? 3600 : 60, from = Math.floor(low / unit), to = Math.ceil(high / unit);
    if (from === 0 && !hours) { return count(w.up_to, to, 0); }
    if (from >= to) { return count(hours ? w.hours : w.minutes, to, 0); }
    return count(hours ? w.hours_range : w.range, to, from);
  }

  // What is read out: what changes matters, and the place at most once a minute.
  function say(text) { put('say', text); }
  function sayPlace(text) {
    if (Date.now() - said >= sayEvery) { said = Date.now(); say(text); }
  }

  // The bar shows how much of the wait is over, and moves forward only, in all tabs and after a reload.
  var wayKey = 'way ' + s.item;
  function moved() {
    var m = /^(\d+) (\d+)$/.exec(recall(wayKey) || '');
    return m && +m[1] === s.joined_ms ? +m[2] : 0;
  }
  function way(position, eta) {
    var stood = (now() - s.joined_ms) / 1000, part = Math.max(s.way, moved());
    if (position !== null && eta !== null && s.joined_ms && stood > 0) { part = Math.max(part, 100 * stood / (stood + eta)); }
    s.way = Math.min(99, Math.floor(part));
    if (s.joined_ms) { remember(wayKey, s.joined_ms + ' ' + s.way); }
    el('way').value = s.way;
    show('way', s.way > 0 && position !== null);
  }

  function place(position) {
    show('place', position !== null);
    if (position === null) { document.title = s.title || w.states[key()].heading; return; }
    put('number', number(position));
    show('first', position === 1);
    document.title = number(position) + ' · ' + (s.title || w.states[key()].heading);
  }
  function key() { return w.states[s.reason] ? s.reason : 'wait'; }

  function days(d) {
    try { return new Intl.NumberFormat(w.lang, { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(d); } catch (e) { return d + ' ·'; }
  }
  function countdown() {
    var left = Math.max(0, Math.ceil((s.opens_ms - now()) / 1000));
    var d = Math.floor(left / 86400), h = Math.floor(left / 3600) % 24, m = Math.floor(left / 60) % 60;
    function two(n) { return (n < 10 ? '0' : '') + n; }
    put('countdown', (d ? days(d) + ' ' : '') + (d || h ? two(h) + ':' : '') + two(m) + ':' + two(left % 60));
  }
  function opens() {
    show('opens', s.opens_ms > 0);
    show('countdown', s.opens_ms > 0);
    show('in-label', s.opens_ms > 0);
    if (!s.opens_ms) { return; }
    put('opens-at', time(s.opens_ms, { weekday: 'short', day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit', timeZoneName: 'short' }));
    countdown();
  }

  // The page itself decides nothing: whatever is not "wait" is the server's to say, at the page's own address.
  function home() { over = true; close(); location.replace(s.self); }

  // turn shows that it is, and goes on.
  function turn(a) {
    over = true;
    close();
    document.title = '★ ' + w.turn;
    put('heading', w.turn);
    var ends = a.pass && Date.parse(a.pass.expires_at);
    put('line', (ends ? w.until.replace('{time}', time(ends, { hour: 'numeric', minute: '2-digit' })) + ' ' : '') + w.going);
    show('line', true);
    ['place', 'opens', 'way', 'after', 'notify', 'notified', 'leave', 'trouble'].forEach(function (id) { show(id, false); });
    say(w.turn);
    if (recall('notify') === 'yes' && window.Notification && Notification.permission === 'granted') {
      try {
        new Notification(w.turn, { body: w.notice, tag: 'sluice ' + s.item }).onclick = function () { window.focus(); };
      } catch (e) { /* some phones have notifications for service workers alone */ }
    }
    setTimeout(home, 1500);
  }

  function later(ms) { clearTimeout(timer); timer = setTimeout(poll, Math.max(ms, 1000)); }

  function trouble(on) {
    if (on && !troubles) { put('trouble', w.trouble); say(w.trouble); }
    if (!on && troubles) { say(w.back); }
    show('trouble', on);
    troubles = on ? troubles + 1 : 0;
  }

  // took shows an answer; false where it is none. That of a stream claims nothing: the next poll does.
  function took(a, streamed) {
    if (over) { return true; }
    if (!a || a.item !== s.item) { return false; } // somebody else's: a network that wants a login
    if (a.action === 'pass') { if (streamed) { poll(); } else { turn(a); } return true; }
    if (a.action === 'reject') { home(); return true; }
    if (a.action !== 'wait') { return false; }
    var p = a.place;
    if (!p || typeof p.poll_after_ms !== 'number') { return false; }
    trouble(false);
    if (a.reason !== s.reason) {
      s.reason = a.reason;
      var t = w.states[key()];
      if (!s.title) { put('heading', t.heading); }
      put('line', t.line);
      show('line', key() !== 'wait');
      put('next', key() === 'prequeue' && s.drawn ? w.draw : t.next);
      say(s.title || t.heading);
    }
    if (p.ticket) {
      s.joined_ms = Date.parse(p.joined_at) || s.joined_ms;
      if (!bare) { s.visitor = a.visitor; s.ticket = p.ticket; address(); }
    }
    s.opens_ms = p.opens_at ? Date.parse(p.opens_at) : 0;
    place(p.position);
    opens();
    put('waits', waits(p.eta_low_seconds, p.eta_high_seconds));
    way(p.position, p.eta_seconds);
    put('updated', hour(now()));
    if (p.position !== null) { sayPlace(w.say.replace('{n}', number(p.position))); }
    until = p.poll_after_ms;
    later(stream ? Math.max(until, Math.min(60000, s.keeps_ms / 3)) : until);
    return true;
  }

  function lost(after) {
    if (over) { return; }
    trouble(true);
    later(Math.max(after || 0, Math.min(30000, 1000 * Math.pow(2, Math.min(troubles, 5))) * (0.75 + Math.random() / 2)));
  }

  function poll() {
    if (busy || over) { return; }
    if (s.action !== 'wait') { home(); return; }
    busy = true;
    asked = Date.now();
    clearTimeout(timer);
    var headers = { Accept: 'application/json', 'Sluice-Page': s.tag };
    if (!bare && s.visitor) { headers['Sluice-Visitor'] = s.visitor; }
    if (!bare && s.ticket) { headers['Sluice-Ticket'] = s.ticket; }
    var stop = window.AbortController ? new AbortController() : { abort: function () {} };
    var patience = setTimeout(function () { stop.abort(); }, 15000);
    fetch(s.status, { headers: headers, credentials: 'same-origin', cache: 'no-store', signal: stop.signal }).then(function (r) {
      var date = Date.parse(r.headers.get('Date'));
      if (date && Math.abs(date + 500 - now()) > 1500) { ahead = date + 500 - Date.now(); }
      if (r.status === 404 && bare && s.visitor && !kept) { bare = false; busy = false; poll(); return null; }
      if (r.status === 404 && r.headers.get('Content-Type') === 'application/problem+json') { home(); return null; }
      if (!r.ok) { lost(1000 * r.headers.get('Retry-After')); return null; }
      return r.json().then(function (a) {
        if (bare && !kept) { kept = true; address(); }
        if (!took(a, false)) { throw new Error('no answer'); }
        if (r.headers.get('Sluice-Page')) { home(); return; } // the operator has written other words
        listen();
      });
    }).catch(function () { lost(0); }).then(function () { clearTimeout(patience); busy = false; });
  }

  // Without cookies the page's address is what keeps the place over a reload.
  function address() {
    var at = s.self.split('?'), query = (at[1] || '').split('&').filter(function (p) { return p && !/^[vt]=/.test(p); });
    if (!kept) { query.push('v=' + encodeURIComponent(s.visitor)); }
    if (!kept && s.ticket) { query.push('t=' + encodeURIComponent(s.ticket)); }
    s.self = at[0] + (query.length ? '?' + query.join('&') : '');
    try { history.replaceState(history.state, '', s.self); } catch (e) { /* too many in a short time */ }
  }

  // One tab of a browser, and one that is looked at, may hold a stream: over HTTP/1.1 connections are few.
  function listen() {
    if (stream || streamless || over || !kept || document.hidden || !window.EventSource || !navigator.locks || until < 2000) { return; }
    stream = { release: null, source: null };
    var mine = stream;
    navigator.locks.request('sluice stream', { ifAvailable: true }, function (lock) {
      if (!lock || stream !== mine) { if (stream === mine) { stream = null; } return null; }
      return new Promise(function (release) {
        mine.release = release;
        mine.source = new EventSource(s.events);
        mine.source.addEventListener('status', function (e) {
          try { if (!took(JSON.parse(e.data), true)) { throw new Error('no answer'); } } catch (x) { fail(); }
        });
        mine.source.onerror = fail;
      });
    }).catch(fail);
    // Not at once: a proxy that restarts cuts the streams of all.
    function fail() { if (stream === mine) { streamless = true; close(); later(until); } }
  }
  function close() {
    if (!stream) { return; }
    if (stream.source) { stream.source.close(); }
    if (stream.release) { stream.release(); }
    stream = null;
  }

  // Whoever comes back sees at once where things stand.
  function awake() { if (!over && Date.now() - asked >= 1000) { poll(); } else if (!over && !busy) { later(1000); } }
  document.addEventListener('visibilitychange', function () {
    if (document.hidden) { if (stream) { close(); later(until); } } else { streamless = false; awake(); }
  });
  window.addEventListener('online', awake);
  window.addEventListener('pageshow', function (e) { if (e.persisted) { over = false; awake(); } });
  setInterval(function () {
    if (Date.now() - woke > 10000) { awake(); } // slept
    woke = Date.now();
    if (s.opens_ms && !over) { countdown(); }
  }, 1000);

  // Who leaves in one tab has left in all.
  var leave = el('leave');
  if (leave) {
    leave.querySelector('form').addEventListener('submit', function () {
      over = true;
      close();
      remember('left ' + s.item, String(Date.now()));
    });
    window.addEventListener('storage', function (e) {
      if (e.key === 'sluice left ' + s.item && e.newValue && !over && kept) { over = true; close(); location.replace(s.left); }
    });
  }

  var notify = el('notify');
  if (notify && window.Notification && Notification.permission !== 'denied') {
    var wanted = recall('notify') === 'yes' && Notification.permission === 'granted';
    notify.hidden = wanted;
    show('notified', wanted);
    notify.onclick = function () {
      Promise.resolve(Notification.requestPermission()).then(function (answer) {
        if (answer !== 'granted') { notify.hidden = true; return; }
        remember('notify', 'yes');
        notify.hidden = true;
        show('notified', true);
        say(w.granted);
      });
    };
  }

  if (s.action === 'wait') {
    put('updated', hour(now()));
    opens();
    way(s.position || null, null);
    if (s.visitor) { address(); }
  }
  if (s.after_ms) { later(s.after_ms); }
  if (s.action === 'pass' && el('until') && s.until_ms) { put('until', w.until.replace('{time}', time(s.until_ms, { hour: 'numeric', minute: '2-digit' }))); }
})();
