-- prelude.lua: what all scripts of a line share; it stands before each of them. See docs/line.md for the rules.
--
-- The keys of a line, in the order in which every script takes them:
--   K.waiting     zset    visitor -> score (arrival in us, or lot)
--   K.running     zset    visitor -> live ms at which the claim or the session ends
--   K.finished    zset    visitor -> end, ms
--   K.queue       string  header, limits, bucket, books, in MessagePack: see `load`
--   K.heard       hash    visitor -> live second of the last sign of life
--   K.admissions  hash    visitor -> "kind admitted claimed issued ends requests" (ms; exp of the newest pass)
--   K.ended       hash    visitor -> "score instant": the newer half of the marks of ended places
--   K.ended_old   hash    the older half
--   K.traffic     hash    sub-buckets of checks; K.newcomers: of newcomers; K.active: measure of active users
--
-- A number of 16 digits never goes through `..` or tostring, which lose digits of it: see `int`. As an argument of `call` and in a
-- script's answer it stays whole.

local K = {
  waiting = KEYS[1], running = KEYS[2], finished = KEYS[3], queue = KEYS[4], heard = KEYS[5], admissions = KEYS[6],
  ended = KEYS[7], ended_old = KEYS[8], traffic = KEYS[9], newcomers = KEYS[10], active = KEYS[11],
}

local call = redis.call
local floor, min, max = math.floor, math.min, math.max

local LEEWAY = 5000        -- ms past its exp that a pass is accepted and its slot held
local KEEP_FINISHED = 1000 -- members of finished
local KEEP_OFF = 600       -- seconds for which a queue that is off is remembered
local LOTS = 2 ^ 50          -- scores below it are lots, the others arrivals in us
local HOLD = 2000          -- ms after a loss in which nobody is let in
local SET_BACK = 1000      -- ms that a clock may be behind what it said before; by more it has been set back

local function int(n) return string.format('%d', n) end

-- The store's clock in us, or the virtual one of the caller.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local t = call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- The queue as it is stored: a map, packed, because reading and writing sixty fields of a hash costs a call more than all else it
-- does. Its fields:
--   exists, state, cause, by, override (text, '' = none), draining, grace, random, renewal, auto, held (0 or 1)
--   gen, from (passes_from), epoch, ver, activated, opens: the header
--   lv (version of the limits), inflow, max_active, session, claim, abandon, return, max_waiting, release_after, ratio, trig_*: the limits
--   tokens, at, debt, hold: the bucket
--   last, nw, nr, reserved, reserved_until, lost, step_at, tick, disarmed, damaged, empty_at, low_at, marks_at, sweep, sweep_of, swept_at, m*:
--   the rest; trip, trip_of, peak, at_once, longest, waits (text of three bytes a bucket of queue.Waits): the story; and the
--   books. A number that is missing, as one that a newer version keeps and this store has none of yet, is 0.
local books = { 'joined', 'returned', 'restored', 'admitted', 'abandoned', 'left', 'carried', 'finished', 'no_show', 'revoked' }

local zero = { __index = function() return 0 end }
local dirty -- whether the queue is to be written

local function load()
  local packed = call('GET', K.queue)
  dirty = false
  local kept
  if packed then
    local ok
    ok, kept = pcall(cmsgpack.unpack, packed)
    if not ok or type(kept) ~= 'table' or type(kept.state) ~= 'string' then call('HLEN', K.queue) end -- WRONGTYPE, as of any other key
  end
  return setmetatable(kept or { exists = false, state = 'off', cause = '', by = '', override = '' }, zero)
end

local function put(q, field, value)
  if q[field] ~= value then
    q[field] = value
    dirty = true
  end
end

local function add(q, field, n)
  if n ~= 0 then put(q, field, q[field] + n) end
end

local function save(q)
  if dirty then call('SET', K.queue, cmsgpack.pack(q), 'KEEPTTL') end
  dirty = false
end

local function touch_version(q, now_ms) put(q, 'ver', max(q.ver + 1, now_ms)) end

local function rate(q) return q.override ~= '' and tonumber(q.override) or q.inflow end

-- Settles the token bucket at the rate in force. It holds one second's worth and one person: with less, fractions are
-- lost between ticks. A clock that went back changes nothing. Time alone is no reason to write: it can be settled again.
local function settle(q, now_us)
  if q.state == 'open' and now_us > q.at then
    if q.at > 0 then q.tokens = min(rate(q) + 1, q.tokens + rate(q) * (now_us - q.at) / 1000000) end
    q.at = now_us
  elseif q.state == 'open' and q.at - now_us > 1000 * SET_BACK then
    put(q, 'at', now_us) -- what time a clock that was set back has told twice is told once
  end
end

-- Opens the bucket's clock, on coming to open.
local function start_bucket(q, now_us) put(q, 'at', now_us) end

-- Takes over newer limits (packed as JSON; '' = none).
local function take_limits(q, packed, version, now_us)
  if packed == '' or version <= q.lv then return end
  local l, before = cjson.decode(packed), rate(q)
  settle(q, now_us)
  put(q, 'lv', version)
  put(q, 'inflow', l.inflow)
  put(q, 'max_active', l.max_active)
  put(q, 'session', l.session_ms)
  put(q, 'renewal', l.session_renewal and 1 or 0)
  put(q, 'claim', l.claim_ms)
  put(q, 'abandon', l.abandon_ms)
  put(q, 'return', l.return_ms)
  put(q, 'max_waiting', l.max_waiting)
  put(q, 'random', l.random and 1 or 0)
  put(q, 'auto', l.auto and 1 or 0)
  put(q, 'held', l.hold and 1 or 0)
  put(q, 'release_after', l.release_after_ms)
  put(q, 'ratio', l.release_ratio)
  put(q, 'trig_requests', l.trigger.requests)
  put(q, 'trig_window', l.trigger.window_ms)
  put(q, 'trig_new', l.trigger.new_visitors_per_minute)
  put(q, 'trig_active', l.trigger.active_users)
  if q.exists then
    put(q, 'tokens', min(q.tokens, rate(q) + 1))
    if rate(q) ~= before then touch_version(q, floor(now_us / 1000)) end
  end
end

-- How much of the time until now was no time: what the steps have found lost, and a silence of the movers that still goes on.
-- A clock that is set back gives time back.
local function lost(q, now_ms)
  local gap = now_ms - q.step_at
  if q.step_at > 0 and (gap > 2 * q.tick + 2000 or gap < -SET_BACK) then return q.lost + gap - q.tick end
  return q.lost
end

local function live(q, now_ms) return now_ms - lost(q, now_ms) end

local function room(q, now_ms)
  if q.max_active == 0 then return 1e9 end
  local reserved = now_ms < q.reserved_until and q.reserved or 0
  return q.max_active - q.nr - reserved
end

-- One who was known to be inside has turned up in running.
local function show_up(q)
  if q.reserved > 0 then put(q, 'reserved', q.reserved - 1) end
end

-- Marks of ended places: two halves take turns, so that a mark is kept for one to two lifetimes of what it ends.
local function turn_marks(q, now_ms)
  local life = max(q.session + LEEWAY, max(q.abandon, q.claim) + q['return']) + 60000
  if q.marks_at == 0 then
    put(q, 'marks_at', now_ms)
  elseif now_ms - q.marks_at > life then
    call('UNLINK', K.ended_old)
    if call('EXISTS', K.ended) == 1 then call('RENAME', K.ended, K.ended_old) end
    put(q, 'marks_at', now_ms)
  end
end

-- A mark from both halves: highest score of an ended place, latest instant (ms) up to which passes have ended; -1, -1 = none.
local function read_mark(newer, older)
  local score, instant = -1, -1
  for _, text in ipairs({ newer or '', older or '' }) do
    local s, i = string.match(text, '^(%-?%d+) (%-?%d+)$')
    if s then score, instant = max(score, tonumber(s)), max(instant, tonumber(i)) end
  end
  return score, instant
end

local function mark_of(visitor) return read_mark(call('HGET', K.ended, visitor), call('HGET', K.ended_old, visitor)) end

local function write_mark(score, instant) return int(score) .. ' ' .. int(instant) end

local function mark(visitor, score, instant)
  local s, i = mark_of(visitor)
  call('HSET', K.ended, visitor, write_mark(max(s, score), max(i, instant)))
end

-- Marks of many visitors, read by two calls. `add` changes one, and `save` writes those that were changed by another call.
local function marks_of(visitors)
  local m = { scores = {}, instants = {}, changed = {} }
  if #visitors > 0 then
    local newer, older = call('HMGET', K.ended, unpack(visitors)), call('HMGET', K.ended_old, unpack(visitors))
    for i, v in ipairs(visitors) do m.scores[v], m.instants[v] = read_mark(newer[i], older[i]) end
  end
  function m.add(visitor, score, instant)
    m.scores[visitor], m.instants[visitor] = max(m.scores[visitor], score), max(m.instants[visitor], instant)
    m.changed[visitor] = true
  end
  function m.save()
    local written = {}
    for v in pairs(m.changed) do
      written[#written + 1] = v
      written[#written + 1] = write_mark(m.scores[v], m.instants[v])
    end
    if #written > 0 then call('HSET', K.ended, unpack(written)) end
  end
  return m
end

-- A stay in running.
local function read_stay(text)
  local kind, admitted, claimed, issued, ends, requests = string.match(text or '', '^(%a) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not kind then return nil end
  return { kind = kind, admitted = tonumber(admitted), claimed = tonumber(claimed), issued = tonumber(issued),
    ends = tonumber(ends), requests = tonumber(requests) }
end

local function write_stay(s)
  return string.format('%s %d %d %d %d %d', s.kind, s.admitted, s.claimed, s.issued, s.ends, s.requests)
end

local function whole_second(ms) return floor(ms / 1000) * 1000 end

-- Starts a new pass of a stay at now: in whole seconds, and later than the instant up to which passes have ended.
local function issue(q, stay, now_ms, visitor)
  local _, ended_at = mark_of(visitor)
  stay.issued = whole_second(now_ms)
  if stay.issued <= ended_at then stay.issued = whole_second(ended_at) + 1000 end
  stay.ends = stay.issued + q.session
end

-- The stay of one who comes in and is there at once.
local function stay_now(q, kind, now_ms, visitor)
  local stay = { kind = kind, admitted = now_ms, claimed = now_ms, requests = 1 }
  issue(q, stay, now_ms, visitor)
  return stay
end

-- A stay as scripts answer it.
local function tell_stay(stay)
  return stay.kind, stay.admitted, stay.claimed, stay.issued, stay.ends, stay.requests
end

-- Ends stays whose deadline has passed: unclaimed ones are no-shows, the others are finished.
local function end_stays(q, visitors, now_ms)
  if #visitors == 0 then return 0, 0 end
  local stays, no_show, done = call('HMGET', K.admissions, unpack(visitors)), 0, {}
  for i, visitor in ipairs(visitors) do
    local stay = read_stay(stays[i])
    if stay and stay.claimed == 0 then
      no_show = no_show + 1
    else
      done[#done + 1] = now_ms
      done[#done + 1] = visitor
    end
  end
  call('ZREM', K.running, unpack(visitors))
  call('HDEL', K.admissions, unpack(visitors))
  if #done > 0 then call('ZADD', K.finished, unpack(done)) end
  add(q, 'nr', -#visitors)
  add(q, 'no_show', no_show)
  add(q, 'finished', #done / 2)
  return no_show, #done / 2
end

-- A fraction as scripts answer it: a plain number would be cut.
local function text(n) return string.format('%.17g', n) end

-- The header as every script answers it.
local function header(q)
  return { q.state, q.gen, q.from, q.epoch, q.ver, q.draining, q.cause, q.by, q.grace, q.activated, q.opens, text(rate(q)), q.override }
end

local function counts(q, now_ms)
  return { q.nw, q.nr, now_ms < q.reserved_until and q.reserved or 0, q.joined, q.returned, q.restored, q.admitted, q.abandoned,
    q.left, q.carried, q.finished, q.no_show, q.revoked }
end
