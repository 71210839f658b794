-- switch.lua: what operators, sales, the detector and a node that remembers more do to a queue as a whole.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- KEYS[12]     zset  idempotency key -> ms, of admit and reset
-- ARGV[1]  now_us          '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  limits          JSON of the policy's numbers, '' = none
-- ARGV[3]  limits_version  integer
-- ARGV[4]  action          activate, deactivate, drain, close, pause, resume, admit, inflow, reset, prequeue, restore
-- ARGV[5]  epoch           of a new epoch, where one begins
-- ARGV[6]  cause           of going on
-- ARGV[7]  by              who or what, in words
-- ARGV[8]  opens_ms        prequeue: when it opens; 0 = unknown
-- ARGV[9]  reserved        going on: how many are inside
-- ARGV[10] count           admit: how many
-- ARGV[11] inflow          inflow: people per second; '' = the policy's again
-- ARGV[12] key             makes admit and reset take effect once; '' = none
-- ARGV[13] known           restore: JSON of the header and numbers that the node remembers
-- ARGV[14] hold_ms         restore: how long nobody goes in
-- ARGV[15] trip            activate by the detector: the measure that tripped,
-- ARGV[16] trip_of           and the trigger that it reached
-- ARGV[17] damaged         1 = restore: let go of keys that are not what a line writes first
-- Returns  {'ok' or 'wrong_state', header, counts, header before, changed, now_ms, places ended,
--          {counts, story} of the generation that ended, else {}}
-- Cost     O(1); sets are unlinked, not walked
-- Why one script: of many nodes that want the same change at once, one makes it.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local action, epoch, cause, by = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
if ARGV[17] == '1' then
  mend()
  if not queue_is_sound() then call('UNLINK', K.queue) end
end
local q = load()
local before = header(q)
take_limits(q, ARGV[2], tonumber(ARGV[3]), now_us)
local changed, left, ended = 0, 0, {}

local function done(word)
  if q.exists then
    save(q)
    if q.state == 'off' then call('EXPIRE', K.queue, keep_off(q)) end
  end
  return { word or 'ok', header(q), counts(q, now_ms), before, changed, now_ms, left, ended }
end

local function change()
  changed = 1
  touch_version(q, now_ms)
end

-- The bucket is settled on leaving open and its clock starts again on coming back.
local function go(state)
  settle(q, now_us)
  if state == 'open' and q.state ~= 'open' then start_bucket(q, now_us) end
  put(q, 'state', state)
  put(q, 'low_at', 0)
  change()
end

local function clear_line()
  left = q.nw
  call('UNLINK', K.waiting, K.heard)
  add(q, 'left', q.nw)
  put(q, 'nw', 0)
  put(q, 'empty_at', now_ms)
end

-- A key that was used has taken effect, whatever the state is by now.
local function used_key()
  if ARGV[12] == '' then return false end
  call('ZREMRANGEBYSCORE', KEYS[12], '-inf', now_ms - 86400000)
  return call('ZSCORE', KEYS[12], ARGV[12])
end

local function use_key()
  if ARGV[12] == '' then return end
  call('ZADD', KEYS[12], now_ms, ARGV[12])
  call('ZREMRANGEBYRANK', KEYS[12], 0, -101)
  call('PEXPIRE', KEYS[12], 86400000)
end

local act = {}

function act.activate()
  if q.state == 'off' then
    if cause == 'detector' and q.disarmed == 1 and not traffic_low(q, measures(q, now_ms)) then return done() end
    turn_on(q, 'open', now_us, epoch, cause, by, tonumber(ARGV[9]))
    put(q, 'trip', tonumber(ARGV[15]))
    put(q, 'trip_of', tonumber(ARGV[16]))
    changed = 1
  elseif cause == 'detector' or cause == 'mode' then
    return done()
  elseif q.state == 'prequeue' then
    put(q, 'cause', cause)
    put(q, 'by', by)
    go('open')
  elseif q.state == 'open' then
    if (cause == 'operator' and q.cause ~= 'operator') or (cause == 'sale' and q.by ~= by) then
      put(q, 'cause', cause)
      put(q, 'by', by)
      change()
    end
  else
    return done('wrong_state')
  end
  return done()
end

function act.prequeue()
  if q.state == 'off' then
    turn_on(q, 'prequeue', now_us, epoch, cause, by, tonumber(ARGV[9]))
    put(q, 'opens', tonumber(ARGV[8]))
    changed = 1
  elseif q.state == 'prequeue' and (q.opens ~= tonumber(ARGV[8]) or cause == 'sale' and q.by ~= by) then
    put(q, 'opens', tonumber(ARGV[8]))
    if cause == 'sale' then
      put(q, 'cause', cause)
      put(q, 'by', by)
    end
    change()
  end
  return done()
end

function act.deactivate()
  if q.state ~= 'off' then
    left = q.nw
    turn_off(q, now_ms, true)
    ended = { counts(q, now_ms), story(q, true) }
    changed = 1
  end
  return done()
end

function act.drain()
  if q.state ~= 'open' and q.state ~= 'paused' then return done('wrong_state') end
  if q.draining == 0 or q.state == 'paused' then
    put(q, 'draining', 1)
    go('open')
  end
  return done()
end

function act.close()
  if q.state == 'off' then turn_on(q, 'closed', now_us, epoch, cause, by, tonumber(ARGV[9])) end
  if q.state ~= 'closed' then
    clear_line()
    put(q, 'draining', 0)
    put(q, 'debt', 0)
    go('closed')
  else
    changed = before[1] == 'off' and 1 or 0
  end
  return done()
end

function act.pause()
  if q.state == 'open' then go('paused') elseif q.state ~= 'paused' then return done('wrong_state') end
  return done()
end

function act.resume()
  if q.state == 'paused' then go('open') elseif q.state ~= 'open' then return done('wrong_state') end
  return done()
end

function act.admit()
  if used_key() then return done() end
  if q.state ~= 'open' and q.state ~= 'paused' then return done('wrong_state') end
  use_key()
  add(q, 'debt', tonumber(ARGV[10]))
  changed = 1
  return done()
end

function act.inflow()
  if q.state == 'off' then return done('wrong_state') end
  if q.override ~= ARGV[11] then
    settle(q, now_us)
    put(q, 'override', ARGV[11])
    put(q, 'tokens', min(q.tokens, rate(q) + 1))
    change()
  end
  return done()
end

function act.reset()
  if used_key() then return done() end
  if q.state == 'off' then return done('wrong_state') end
  use_key()
  local state, was_cause, was_by, opens = q.state, q.cause, q.by, q.opens
  local lost, step_at = q.lost, q.step_at
  left = q.nw
  add(q, 'left', q.nw)
  add(q, 'revoked', q.nr)
  for _, f in ipairs({ 'nw', 'nr', 'reserved' }) do put(q, f, 0) end
  ended = { counts(q, now_ms), story(q, true) }
  turn_on(q, state, now_us, epoch, was_cause, was_by, 0)
  call('UNLINK', K.ended, K.ended_old)
  put(q, 'grace', 0)
  put(q, 'from', q.gen)
  put(q, 'opens', opens)
  put(q, 'lost', lost)
  put(q, 'step_at', step_at)
  changed = 1
  return done()
end

function act.restore()
  local k = cjson.decode(ARGV[13])
  if k.generation == 0 or q.exists and q.gen >= k.generation then return done() end
  q = load()
  put(q, 'gen', k.generation - 1)
  put(q, 'ver', max(q.ver, k.version))
  put(q, 'lv', 0)
  take_limits(q, ARGV[2], tonumber(ARGV[3]), now_us)
  put(q, 'last', max(q.last, k.last_score))
  turn_on(q, k.state, now_us, epoch, k.cause, k.by, k.inside)
  put(q, 'gen', k.generation)
  put(q, 'from', k.passes_from)
  put(q, 'draining', k.draining and 1 or 0)
  put(q, 'grace', k.grace and 1 or 0)
  put(q, 'activated', k.activated_ms)
  put(q, 'opens', k.opens_ms)
  if type(k.override) == 'number' then put(q, 'override', text(k.override)) end
  put(q, 'hold', now_ms + max(HOLD, tonumber(ARGV[14])))
  changed = 1
  return done()
end

return act[action]()
