-- prelude.lua: what all scripts of a line share; it stands before each of them. See docs/line.md for the rules.
--
-- The keys of a line, in the order in which every script takes them:
--   K.waiting     zset  visitor -> score (arrival in us, or lot)
--   K.running     zset  visitor -> live ms at which the claim or the session ends
--   K.finished    zset  visitor -> end, ms
--   K.queue       hash  header, limits, bucket, books: the fields of `numbers` and `words` below
--   K.heard       hash  visitor -> live second of the last sign of life
--   K.admissions  hash  visitor -> "kind admitted claimed issued ends requests" (ms; exp of the newest pass)
--   K.ended       hash  visitor -> "score instant": the newer half of the marks of ended places
--   K.ended_old   hash  the older half
--   K.traffic     hash  sub-buckets of checks; K.newcomers: of newcomers; K.active: measure of active users
--
-- A number never goes through `..` or tostring on its way to the store: 16 digits do not survive that. See `int`.

local K = {
  waiting = KEYS[1], running = KEYS[2], finished = KEYS[3], queue = KEYS[4], heard = KEYS[5], admissions = KEYS[6],
  ended = KEYS[7], ended_old = KEYS[8], traffic = KEYS[9], newcomers = KEYS[10], active = KEYS[11],
}

local call = redis.call
local floor, min, max = math.floor, math.min, math.max

local LEEWAY = 5000        -- ms past its exp that a pass is accepted and its slot held
local KEEP_FINISHED = 1000 -- members of finished
local KEEP_OFF = 600       -- seconds for which a queue that is off is remembered
local HOLD = 2000          -- ms after a loss in which nobody is let in

local function int(n) return string.format('%.0f', n) end

-- The store's clock in us, or the virtual one of the caller.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local t = call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- Fields of the queue's hash. Numbers read as 0 where they are missing.
local numbers = {
  'gen', 'from', 'epoch', 'ver', 'draining', 'grace', 'activated', 'opens', 'last', 'nw', 'nr',
  'tokens', 'at', 'debt', 'hold', 'reserved', 'reserved_until', 'lost', 'step_at', 'tick', 'disarmed',
  'empty_at', 'low_at', 'marks_at', 'sweep', 'sweep_of', 'swept_at', 'm0_at', 'm0', 'm1_at', 'm1',
  'lv', 'inflow', 'max_active', 'session', 'renewal', 'claim', 'abandon', 'return', 'max_waiting', 'random', 'auto',
  'release_after', 'ratio', 'held', 'trig_requests', 'trig_window', 'trig_new', 'trig_active',
  'joined', 'returned', 'restored', 'admitted', 'abandoned', 'left', 'carried', 'finished', 'no_show', 'revoked',
}
local words = { 'state', 'cause', 'by', 'override' }
local books = { 'joined', 'returned', 'restored', 'admitted', 'abandoned', 'left', 'carried', 'finished', 'no_show', 'revoked' }

local fields = {}
for i, f in ipairs(numbers) do fields[i] = f end
for i, f in ipairs(words) do fields[#numbers + i] = f end

-- The queue as it is stored; q.exists tells whether it is. Writes gather in q by put and go out with save.
local function load()
  local values, q = call('HMGET', K.queue, unpack(fields)), { dirty = {} }
  for i, f in ipairs(numbers) do q[f] = tonumber(values[i]) or 0 end
  for i, f in ipairs(words) do q[f] = values[#numbers + i] or '' end
  q.exists = q.state ~= ''
  if not q.exists then q.state = 'off' end
  return q
end

local function put(q, field, value)
  if q[field] ~= value then
    q[field] = value
    q.dirty[field] = true
  end
end

local function add(q, field, n)
  if n ~= 0 then put(q, field, q[field] + n) end
end

local fraction = { tokens = true, inflow = true, ratio = true }

local function save(q)
  local out = {}
  for field in pairs(q.dirty) do
    out[#out + 1] = field
    local v = q[field]
    if type(v) == 'number' then
      out[#out + 1] = fraction[field] and string.format('%.17g', v) or int(v)
    else
      out[#out + 1] = v
    end
  end
  if #out > 0 then call('HSET', K.queue, unpack(out)) end
  q.dirty = {}
end

local function touch_version(q, now_ms) put(q, 'ver', max(q.ver + 1, now_ms)) end

local function rate(q) return q.override ~= '' and tonumber(q.override) or q.inflow end

-- Settles the token bucket at the rate in force. It holds one second's worth and one person: with less, fractions are
-- lost between ticks. A clock that went back changes nothing.
local function settle(q, now_us)
  if q.state == 'open' and now_us > q.at then
    if q.at > 0 then put(q, 'tokens', min(rate(q) + 1, q.tokens + rate(q) * (now_us - q.at) / 1000000)) end
    put(q, 'at', now_us)
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
local function lost(q, now_ms)
  local gap = now_ms - q.step_at
  if q.step_at > 0 and gap > 2 * q.tick + 2000 then return q.lost + gap - q.tick end
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

-- The mark of a visitor: highest score of an ended place, latest instant (ms) up to which passes have ended; -1, -1.
local function mark_of(visitor)
  local a, b = call('HGET', K.ended, visitor), call('HGET', K.ended_old, visitor)
  local score, instant = -1, -1
  for _, text in ipairs({ a or '', b or '' }) do
    local s, i = string.match(text, '^(%-?%d+) (%-?%d+)$')
    if s then score, instant = max(score, tonumber(s)), max(instant, tonumber(i)) end
  end
  return score, instant
end

-- A visitor who comes anew to a draw has the same lot as before: only the passes stay ended.
local function forget_place_mark(visitor)
  local score, instant = mark_of(visitor)
  if score >= 0 then
    call('HDEL', K.ended_old, visitor)
    call('HSET', K.ended, visitor, '-1 ' .. int(instant))
  end
end

local function mark(visitor, score, instant)
  local s, i = mark_of(visitor)
  call('HSET', K.ended, visitor, int(max(s, score)) .. ' ' .. int(max(i, instant)))
end

-- A stay in running.
local function read_stay(text)
  local kind, admitted, claimed, issued, ends, requests = string.match(text or '', '^(%a) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not kind then return nil end
  return { kind = kind, admitted = tonumber(admitted), claimed = tonumber(claimed), issued = tonumber(issued),
    ends = tonumber(ends), requests = tonumber(requests) }
end

local function write_stay(s)
  return s.kind .. ' ' .. int(s.admitted) .. ' ' .. int(s.claimed) .. ' ' .. int(s.issued) .. ' ' .. int(s.ends) .. ' '
    .. int(s.requests)
end

local function whole_second(ms) return floor(ms / 1000) * 1000 end

-- Starts a new pass of a stay at now.
local function issue(q, stay, now_ms)
  stay.issued = whole_second(now_ms)
  stay.ends = stay.issued + q.session
end

-- The stay of one who comes in and is there at once.
local function stay_now(q, kind, now_ms)
  local stay = { kind = kind, admitted = now_ms, claimed = now_ms, requests = 1 }
  issue(q, stay, now_ms)
  return stay
end

-- A stay as scripts answer it.
local function tell_stay(stay)
  return stay.kind, int(stay.admitted), int(stay.claimed), int(stay.issued), int(stay.ends), stay.requests
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
      done[#done + 1] = int(now_ms)
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

local function trim_finished()
  local over = call('ZCARD', K.finished) - KEEP_FINISHED
  if over > 0 then call('ZREMRANGEBYRANK', K.finished, 0, min(over, 300) - 1) end
end

-- A sliding window kept as sub-buckets, in a hash: number of a sub-bucket -> count; s = the sum of those numbered above o;
-- b = length of a sub-bucket, w = of the window, ms. Sub-bucket k holds what came in ((k-1)b, kb]; the oldest one counts pro rata.
local function bucket_ms(window) return max(100, window / 1000) end

-- Lays the sub-buckets anew after the length of the window has changed theirs.
local function relay_window(key, b)
  local f, sums, total = call('HGETALL', key), {}, 0
  local old = b
  for i = 1, #f, 2 do
    if f[i] == 'b' then old = tonumber(f[i + 1]) end
  end
  for i = 1, #f, 2 do
    local k, n = tonumber(f[i]), tonumber(f[i + 1])
    if k then
      local at = math.ceil(k * old / b)
      sums[at], total = (sums[at] or 0) + n, total + n
    end
  end
  local ttl, window = call('PTTL', key), call('HGET', key, 'w')
  call('DEL', key)
  for k, n in pairs(sums) do call('HSET', key, int(k), int(n)) end
  call('HSET', key, 'b', string.format('%.17g', b), 's', int(total), 'o', 0, 'w', window or 0)
  if ttl > 0 then call('PEXPIRE', key, ttl) end
end

-- The length of the window that a hash of sub-buckets is kept for, ms.
local function window_of(key)
  local w = tonumber(call('HGET', key, 'w') or 0)
  return w > 0 and w or 10000
end

-- Lets what is older than the window go, and answers the count in (now - window, now]. Costs what has left.
local function window_sum(key, now_ms, window)
  local b = bucket_ms(window)
  local f = call('HMGET', key, 's', 'o', 'b')
  if not f[1] then return 0 end
  if f[3] and tonumber(f[3]) ~= b then
    relay_window(key, b)
    f = call('HMGET', key, 's', 'o', 'b')
  end
  local sum, o, from = tonumber(f[1]), tonumber(f[2] or 0), now_ms - window
  local edge = max(floor(from / b), o)
  if edge > o then
    local gone = {}
    if edge - o > 1100 then -- nothing is known of where it starts: look at what there is
      for _, name in ipairs(call('HKEYS', key)) do
        local k = tonumber(name)
        if k and k <= edge then gone[#gone + 1] = name end
      end
    else
      for k = o + 1, edge do gone[#gone + 1] = int(k) end
    end
    if #gone > 0 then
      for _, n in ipairs(call('HMGET', key, unpack(gone))) do sum = sum - (tonumber(n) or 0) end
      call('HDEL', key, unpack(gone))
    end
    call('HSET', key, 's', int(sum), 'o', int(edge), 'b', string.format('%.17g', b))
  end
  local oldest = tonumber(call('HGET', key, int(edge + 1)) or 0)
  return sum - oldest + oldest * min(1, max(0, ((edge + 1) * b - from) / b))
end

-- What the detector measures of an item at this moment: requests in the window, newcomers a minute, active users.
local function measures(q, now_ms)
  local requests = window_sum(K.traffic, now_ms, q.trig_window > 0 and q.trig_window or window_of(K.traffic))
  local newcomers, active = 0, 0
  if q.trig_new > 0 then newcomers = window_sum(K.newcomers, now_ms, 60000) end
  if q.trig_active > 0 then active = tonumber(call('HGET', K.active, 'n') or 0) end
  return requests, newcomers, active
end

local function traffic_low(q, requests, newcomers, active)
  return requests < q.trig_requests * q.ratio
    and (q.trig_new == 0 or newcomers < q.trig_new * q.ratio)
    and (q.trig_active == 0 or active < q.trig_active * q.ratio)
end

-- Turns the queue on: a new generation, an empty bucket, new books.
local function turn_on(q, state, now_us, epoch, cause, by, reserved)
  local now_ms = floor(now_us / 1000)
  call('UNLINK', K.waiting, K.running, K.heard, K.admissions, K.finished)
  put(q, 'state', state)
  put(q, 'gen', max(q.gen + 1, floor(now_us / 1000000)))
  put(q, 'epoch', epoch)
  put(q, 'cause', cause)
  put(q, 'by', by)
  put(q, 'grace', cause == 'sale' and 0 or 1)
  if cause == 'sale' then
    put(q, 'from', q.gen)
    call('UNLINK', K.ended, K.ended_old)
  end
  put(q, 'activated', now_ms)
  for _, f in ipairs(books) do put(q, f, 0) end
  for _, f in ipairs({ 'draining', 'opens', 'nw', 'nr', 'tokens', 'at', 'debt', 'hold', 'lost', 'step_at', 'disarmed',
    'empty_at', 'low_at', 'sweep', 'sweep_of', 'swept_at', 'm0_at', 'm0', 'm1_at', 'm1' }) do put(q, f, 0) end
  put(q, 'override', '')
  put(q, 'empty_at', now_ms)
  put(q, 'reserved', reserved)
  put(q, 'reserved_until', now_ms + q.session)
  if state == 'open' then start_bucket(q, now_us) end
  touch_version(q, now_ms)
  call('PERSIST', K.queue)
  call('PERSIST', K.ended)
  call('PERSIST', K.ended_old)
  q.exists = true
end

-- How long, in s, a queue that is off is remembered: longer where passes that may still be about have been ended.
local function keep_off(q) return q.from > 0 and max(KEEP_OFF, math.ceil((q.session + LEEWAY) / 1000)) or KEEP_OFF end

-- Turns the queue off: everybody passes. The header stays for a while, so that all nodes learn of it.
local function turn_off(q, now_ms, by_hand)
  call('UNLINK', K.waiting, K.running, K.heard, K.admissions, K.finished)
  -- Passes outlive the queue, and so must the knowledge of those that have ended.
  local passes = max(KEEP_OFF, math.ceil((q.session + LEEWAY) / 1000))
  call('EXPIRE', K.ended, passes)
  call('EXPIRE', K.ended_old, passes)
  add(q, 'left', q.nw)
  add(q, 'finished', q.nr)
  put(q, 'nw', 0)
  put(q, 'nr', 0)
  put(q, 'reserved', 0)
  put(q, 'debt', 0)
  put(q, 'state', 'off')
  put(q, 'draining', 0)
  put(q, 'override', '')
  put(q, 'disarmed', by_hand and 1 or 0)
  touch_version(q, now_ms)
  save(q)
  call('EXPIRE', K.queue, keep_off(q))
end

-- People let in per second, measured over the last ten to twenty seconds; -1 = not known yet. Two samples take turns.
local function measure(q, now_ms)
  if q.m1_at == 0 then
    put(q, 'm1_at', now_ms)
    put(q, 'm1', q.admitted)
  elseif now_ms - q.m1_at >= 10000 then
    put(q, 'm0_at', q.m1_at)
    put(q, 'm0', q.m1)
    put(q, 'm1_at', now_ms)
    put(q, 'm1', q.admitted)
  end
end

local function measured(q, now_ms)
  local at, n = q.m1_at, q.m1
  if q.m0_at > 0 then at, n = q.m0_at, q.m0 end
  if at == 0 or now_ms - at < 1000 then return -1 end
  return (q.admitted - n) * 1000 / (now_ms - at)
end

-- The header as every script answers it, numbers as text.
local function header(q)
  return { q.state, int(q.gen), int(q.from), int(q.epoch), int(q.ver), int(q.draining), q.cause, q.by, int(q.grace),
    int(q.activated), int(q.opens), string.format('%.17g', rate(q)), q.override }
end

local function counts(q, now_ms)
  local out = { int(q.nw), int(q.nr), int(now_ms < q.reserved_until and q.reserved or 0) }
  for _, f in ipairs(books) do out[#out + 1] = int(q[f]) end
  return out
end
