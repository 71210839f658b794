-- step.lua: time passes at one item: stays end, silent visitors leave, the next go in, the queue may go off.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us         '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  limits         JSON of the policy's numbers, '' = none
-- ARGV[3]  limits_version integer
-- ARGV[4]  most           most visitors to move in this call, integer 1..300
-- ARGV[5]  tick_ms        the mover's pace; 0 = a silence between steps counts as time
-- ARGV[6]  epoch          of a new epoch, where a loss is found
-- ARGV[7]  seen_gen       what the node knows: generation,
-- ARGV[8]  seen_ver         version,
-- ARGV[9]  seen_from        passes_from,
-- ARGV[10] seen_last        highest score,
-- ARGV[11] seen_inside      running + reserved,
-- ARGV[12] hold_ms          how long nobody goes in after a loss
-- ARGV[13] seen_header      the header the node knows, JSON; read only where a loss is found
-- Returns  {header, counts, now_ms, visitors let in as visitor, score, …, next first, no_show, finished, abandoned,
--          released ('' = no), restored, more, due_ms, last, head score, requests, story where released, else {}}; {} where nothing
--          is kept
-- Cost     O(n log N): n visitors moved (at most `most`), N the larger set
-- Why one script: between leaving one set and entering the next a visitor is in none; a crash there loses the place.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local most, tick_ms = tonumber(ARGV[4]), tonumber(ARGV[5])
local q = load()
if not q.exists then return {} end

local restored = 0
if q.state ~= 'off' then
  local waiting, running = call('ZCARD', K.waiting), call('ZCARD', K.running)
  local seen_gen, seen_last = tonumber(ARGV[7]), tonumber(ARGV[10])
  local behind = seen_gen > q.gen or (seen_gen == q.gen and (seen_last > q.last or tonumber(ARGV[8]) > q.ver))
  if behind or waiting ~= q.nw or running ~= q.nr or q.damaged == 1 then
    restored = 1
    local before = q.ver
    put(q, 'damaged', 0)
    put(q, 'nw', waiting)
    put(q, 'nr', running)
    put(q, 'gen', max(q.gen, seen_gen))
    put(q, 'from', max(q.from, tonumber(ARGV[9])))
    put(q, 'last', max(q.last, seen_last))
    put(q, 'epoch', tonumber(ARGV[6]))
    put(q, 'hold', now_ms + max(HOLD, tonumber(ARGV[12])))
    put(q, 'reserved', max(0, tonumber(ARGV[11]) - running))
    put(q, 'reserved_until', now_ms + q.session)
    put(q, 'ver', max(q.ver, tonumber(ARGV[8])))
    -- The books of what is left: who is there came in somehow.
    for _, f in ipairs(books) do put(q, f, 0) end
    put(q, 'returned', waiting)
    put(q, 'restored', waiting)
    put(q, 'carried', running)
    for _, f in ipairs({ 'm0_at', 'm0', 'm1_at', 'm1' }) do put(q, f, 0) end
    local seen = cjson.decode(ARGV[13])
    if tonumber(ARGV[8]) > before and seen.state ~= 'off' then
      -- What was set just before the loss holds: a pause, an inflow.
      put(q, 'state', seen.state)
      put(q, 'draining', seen.draining and 1 or 0)
      put(q, 'cause', seen.cause)
      put(q, 'by', seen.by)
      put(q, 'grace', seen.grace and 1 or 0)
      put(q, 'activated', seen.activated_ms)
      put(q, 'opens', seen.opens_ms)
      put(q, 'override', type(seen.override) == 'number' and text(seen.override) or '')
    end
    put(q, 'tokens', 0)
    put(q, 'at', q.state == 'open' and now_us or 0)
    touch_version(q, now_ms)
  end
end

if tick_ms > 0 then
  if q.step_at - now_ms > SET_BACK then
    -- Instants that are still to come, by a clock that has been set back, come near enough not to stop anything.
    put(q, 'hold', min(q.hold, now_ms + HOLD))
    put(q, 'reserved_until', min(q.reserved_until, now_ms + q.session))
    for _, f in ipairs({ 'empty_at', 'low_at', 'swept_at', 'marks_at' }) do put(q, f, min(q[f], now_ms)) end
    for _, f in ipairs({ 'm0_at', 'm0', 'm1_at', 'm1' }) do put(q, f, 0) end
  end
  put(q, 'lost', lost(q, now_ms))
  put(q, 'tick', tick_ms)
  put(q, 'step_at', now_ms)
end

take_limits(q, ARGV[2], tonumber(ARGV[3]), now_us)
if q.state == 'off' then
  if q.disarmed == 1 and traffic_low(q, measures(q, now_ms)) then put(q, 'disarmed', 0) end
  save(q)
  return { header(q), counts(q, now_ms), now_ms, {}, 0, 0, 0, '', 0, 0, now_ms + 1000, q.last, 0, '-1' }
end
settle(q, now_us)
turn_marks(q, now_ms)

local live_now = live(q, now_ms)
local budget, more = most, 0

local function trim_finished()
  local over = call('ZCARD', K.finished) - KEEP_FINISHED
  if over > 0 then call('ZREMRANGEBYRANK', K.finished, 0, min(over, 300) - 1) end
end

-- The live instant of the next end in running; nil = nobody is inside.
local function first_end() return tonumber(call('ZRANGE', K.running, 0, 0, 'WITHSCORES')[2]) end

-- Stays that are over.
local next_end = q.nr > 0 and first_end() or nil
local over, no_show, done = {}, 0, 0
if next_end and next_end <= live_now then
  over = call('ZRANGEBYSCORE', K.running, '-inf', live_now, 'LIMIT', 0, budget)
  no_show, done = end_stays(q, over, now_ms)
  budget = budget - #over
  trim_finished()
  next_end = first_end()
end

local abandoned = 0
local function abandon(visitors)
  if #visitors == 0 then return end
  call('ZREM', K.waiting, unpack(visitors))
  call('HDEL', K.heard, unpack(visitors))
  add(q, 'nw', -#visitors)
  add(q, 'abandoned', #visitors)
  abandoned = abandoned + #visitors
end

-- The line is looked through for silent visitors a part at a time, all of it within a quarter of the abandon time: by its
-- size when the round began, or now if it has grown, so that a line that shrinks under it is looked through no slower.
local silent_before = floor((live_now - q.abandon) / 1000)
local LEAST_SWEPT = 32 -- in one part, or the whole line, as a part costs two looks into the sets whatever its size
-- Of whom nothing is known the store has lost that: such a one is heard as of now.
local function is_silent(second) return second and tonumber(second) < silent_before end

local function sweep()
  if q.nw == 0 then return end
  if q.sweep == 0 then put(q, 'sweep_of', q.nw) end
  local size, pace = max(q.sweep_of, q.nw), q.abandon / 4
  local passed = q.swept_at > 0 and now_ms - q.swept_at or pace
  local part = math.ceil(size * min(1, passed / pace))
  if part < min(size, LEAST_SWEPT) then return end
  part = min(budget, part)
  if part < 1 then return end
  local from = q.sweep > 0 and '(' .. int(q.sweep) or '-inf'
  local looked = call('ZRANGEBYSCORE', K.waiting, from, '+inf', 'WITHSCORES', 'LIMIT', 0, part)
  local names, silent = {}, {}
  for i = 1, #looked, 2 do names[#names + 1] = looked[i] end
  if #names > 0 then
    for i, second in ipairs(call('HMGET', K.heard, unpack(names))) do
      if not second then
        call('HSET', K.heard, names[i], int(floor(live_now / 1000)))
      elseif is_silent(second) then
        silent[#silent + 1] = names[i]
      end
    end
    abandon(silent)
  end
  put(q, 'sweep', #names == part and tonumber(looked[#looked]) or 0)
  -- Only what was looked at is paid for, so that a long line takes several calls of a tick.
  local paid = #names == part and pace * #names / size or passed
  put(q, 'swept_at', q.swept_at > 0 and min(now_ms, floor(q.swept_at + paid)) or now_ms)
  if now_ms - q.swept_at > 250 and #names == part then more = 1 end
end

-- Waits of those let in: longest, and how many in each bucket of queue.Waits (WaitBucket). Who was drawn by lot tells none.
local waited = {}
local function note_wait(score)
  if score < LOTS then return end
  local ms, b = max(0, now_ms - floor(score / 1000)), 0
  put(q, 'longest', max(q.longest, ms))
  if ms >= 128 then
    local fraction, exponent = math.frexp(ms)
    b = min((exponent - 8) * 4 + floor((fraction - 0.5) * 8) + 1, 85)
  end
  waited[b] = (waited[b] or 0) + 1
end

local function keep_waits()
  if not next(waited) then return end
  local kept = q.waits ~= 0 and q.waits or ''
  for b, n in pairs(waited) do
    kept = kept .. string.rep('\0', 3 * (b + 1) - #kept)
    local count = min(struct.unpack('>I3', kept, 3 * b + 1) + n, 16777215)
    kept = kept:sub(1, 3 * b) .. struct.pack('>I3', count) .. kept:sub(3 * b + 4)
  end
  put(q, 'waits', kept)
end

-- The next go in: what is due by the rate and has room, and what was ordered by hand beyond both.
local admitted = {}
local stay = write_stay({ kind = 'a', admitted = now_ms, claimed = 0, issued = 0, ends = 0, requests = 0 })
local function admit()
  if q.state ~= 'open' and q.debt == 0 then return end
  if now_ms < q.hold or q.held == 1 then return end
  local due = q.state == 'open' and rate(q) > 0 and max(0, min(floor(q.tokens + 1e-9), room(q, now_ms))) or 0
  while budget > 0 and q.nw > 0 and due + q.debt > 0 do
    local take = min(budget, due + q.debt)
    local popped = call('ZPOPMIN', K.waiting, take)
    local names = {}
    for i = 1, #popped, 2 do names[#names + 1] = popped[i] end
    if #names == 0 then break end
    budget = budget - #names
    local seconds, stays, running, silent, ends = call('HMGET', K.heard, unpack(names)), {}, {}, 0, int(live_now + q.claim)
    for i, visitor in ipairs(names) do
      if is_silent(seconds[i]) then
        silent = silent + 1
      else
        local at = #stays
        running[at + 1], running[at + 2] = ends, visitor
        stays[at + 1], stays[at + 2] = visitor, stay
        admitted[#admitted + 1] = visitor
        admitted[#admitted + 1] = popped[2 * i]
        note_wait(tonumber(popped[2 * i]))
      end
    end
    call('HDEL', K.heard, unpack(names))
    local in_now = #names - silent
    if in_now > 0 then
      call('ZADD', K.running, unpack(running))
      call('HSET', K.admissions, unpack(stays))
      next_end = min(next_end or live_now + q.claim, live_now + q.claim)
    end
    local by_hand = min(q.debt, in_now)
    local by_rate = in_now - by_hand
    add(q, 'debt', -by_hand)
    put(q, 'tokens', max(0, q.tokens - by_rate))
    due = due - by_rate
    add(q, 'nw', -#names)
    add(q, 'nr', in_now)
    add(q, 'admitted', in_now)
    add(q, 'abandoned', silent)
    abandoned = abandoned + silent
  end
  if q.nw == 0 then put(q, 'debt', 0) end
  if budget == 0 and q.nw > 0 and due + q.debt > 0 then more = 1 end
end

-- People let in per second, measured over the last ten to twenty seconds: two samples take turns.
local function measure()
  if q.m1_at > 0 and now_ms - q.m1_at < 10000 then return end
  if q.m1_at > 0 then
    put(q, 'm0_at', q.m1_at)
    put(q, 'm0', q.m1)
  end
  put(q, 'm1_at', now_ms)
  put(q, 'm1', q.admitted)
end

admit()
keep_waits()
sweep()
measure()
if budget == 0 and #over > 0 then more = 1 end

-- Off again: drained, or quiet for long enough.
local released, requests = '', -1
if q.nw == 0 then
  if q.empty_at == 0 then put(q, 'empty_at', now_ms) end
else
  put(q, 'empty_at', 0)
end
if q.draining == 1 and q.nw == 0 then
  released = 'drained'
  turn_off(q, now_ms, true)
elseif q.state == 'open' and q.auto == 1 and (q.cause == 'detector' or q.cause == 'mode') then
  local newcomers, active
  requests, newcomers, active = measures(q, now_ms)
  if traffic_low(q, requests, newcomers, active) then
    if q.low_at == 0 then put(q, 'low_at', now_ms) end
  else
    put(q, 'low_at', 0)
  end
  if q.nw == 0 and q.low_at > 0 and q.empty_at > 0 and now_ms - max(q.low_at, q.empty_at) >= q.release_after then
    released = 'released'
    turn_off(q, now_ms, false)
  end
else
  put(q, 'low_at', 0) -- nobody has looked at the traffic
end

-- When the next step is needed.
local due = now_ms + 1000
local head = 0
if released == '' then
  local first = q.nw > 0 and call('ZRANGE', K.waiting, 0, 0, 'WITHSCORES') or {}
  if first[2] then
    head = tonumber(first[2])
    local r = rate(q)
    if q.state == 'open' and r > 0 and room(q, now_ms) >= 1 then
      due = min(due, max(q.hold, now_ms + math.ceil(max(0, 1 - q.tokens) / r * 1000)))
    end
  end
  if next_end then due = min(due, max(now_ms, next_end + lost(q, now_ms))) end
end
save(q)
return { header(q), counts(q, now_ms), now_ms, admitted, no_show, done, abandoned, released, restored, more,
  due, q.last, head, text(requests), released ~= '' and story(q, true) or {} }
