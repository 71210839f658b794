-- join.lua: many visitors ask at one item: where do I stand, let me stand there again, give me a place.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us         '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  limits         JSON of the policy's numbers, '' = none
-- ARGV[3]  limits_version integer
-- ARGV[4..]  three to an ask: visitor, flags (c = make a place, p = peek only, '' = neither), and what is known of the visitor:
--            "mark_ms lot generation epoch score" (mark of the last pass here, lot, ticket; each 0 = none), '' = nothing
-- Returns  {header, counts, now_ms, answers}; an answer is {outcome, new, returned, score (inside: of ended tickets), position,
--          kind, admitted_ms, claimed_ms, issued_ms, pass_ends_ms, requests}
-- Cost     O(n log N): n asks (at most 200), N the larger set
-- Why one script: looking for a place and making one must not be parted, or a visitor who asks twice gets two.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local q = load()
take_limits(q, ARGV[2], tonumber(ARGV[3]), now_us)

local PER, FIRST = 3, 4
local n = (#ARGV - FIRST + 1) / PER
local answers = {}

if q.state == 'off' then
  for i = 1, n do answers[i] = { 'off' } end
  if q.exists then save(q) end
  return { header(q), counts(q, now_ms), now_ms, answers }
end

settle(q, now_us)
turn_marks(q, now_ms)

local visitors = {}
for i = 1, n do visitors[i] = ARGV[FIRST + (i - 1) * PER] end

-- What the batch changes is noted here first, so that a visitor who stands in it twice is seen.
local in_waiting, in_running = {}, {}
for i, score in ipairs(call('ZMSCORE', K.waiting, unpack(visitors))) do in_waiting[visitors[i]] = tonumber(score) or nil end
for i, ends in ipairs(call('ZMSCORE', K.running, unpack(visitors))) do in_running[visitors[i]] = tonumber(ends) or nil end

local live_now = live(q, now_ms)
local live_s = int(floor(live_now / 1000))
local new_scores, heard = {}, {}
local in_order = true -- whoever took a place in this batch stands behind all before

local function answer_waiting(i, visitor, is_new, returned)
  answers[i] = { 'waiting', is_new, returned, 0, 0 }
end

local function answer_inside(i, stay, is_new, ended)
  answers[i] = { 'inside', is_new, 0, ended, 0, tell_stay(stay) }
end

local function enter(visitor, stay)
  in_running[visitor] = stay.ends + LEEWAY - lost(q, now_ms)
  call('ZADD', K.running, in_running[visitor], visitor)
  call('HSET', K.admissions, visitor, write_stay(stay))
end

-- The pass that a visitor inside gets: soon after the last one the very same, so that answers that got lost and tabs
-- that ask together agree.
local function claim_or_repeat(visitor, stay)
  stay.requests = stay.requests + 1
  if stay.claimed == 0 then
    stay.claimed = now_ms
    issue(q, stay, now_ms, visitor)
    mark(visitor, q.last, -1)
  else
    local first = stay.issued <= whole_second(stay.claimed) + 1000 -- the claim's own; the next one is a tenth of the session younger
    local same = max(q.session / 10, first and min(q.claim, 60000) or 0)
    if now_ms - stay.issued < same or q.renewal == 0 then
      call('HSET', K.admissions, visitor, write_stay(stay))
      return stay
    end
    issue(q, stay, now_ms, visitor)
  end
  enter(visitor, stay)
  return stay
end

-- A visitor who comes anew to a draw has the same lot as before: only the passes stay ended.
local function forget_place_mark(visitor)
  local score, instant = mark_of(visitor)
  if score >= 0 then
    call('HDEL', K.ended_old, visitor)
    call('HSET', K.ended, visitor, '-1 ' .. int(instant))
  end
end

local function queue_up(visitor, score)
  in_waiting[visitor] = score
  new_scores[#new_scores + 1] = score
  new_scores[#new_scores + 1] = visitor
  heard[#heard + 1] = visitor
  heard[#heard + 1] = live_s
  add(q, 'nw', 1)
  put(q, 'peak', max(q.peak, q.nw))
  put(q, 'empty_at', 0)
end

local function ask(i)
  local at = FIRST + (i - 1) * PER
  local visitor, create, peek = ARGV[at], ARGV[at + 1] == 'c', ARGV[at + 1] == 'p'
  local mark_ms, lot, t_gen, t_epoch, t_score = 0, 0, 0, 0, 0
  if ARGV[at + 2] ~= '' then
    mark_ms, lot, t_gen, t_epoch, t_score = string.match(ARGV[at + 2], '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    mark_ms, lot, t_gen, t_epoch, t_score = tonumber(mark_ms), tonumber(lot), tonumber(t_gen), tonumber(t_epoch), tonumber(t_score)
  end

  if in_running[visitor] and in_running[visitor] <= live_now then
    if peek then
      answers[i] = { 'none' }
      return
    end
    end_stays(q, { visitor }, now_ms)
    in_running[visitor] = nil
  end
  if in_running[visitor] then
    local stay = read_stay(call('HGET', K.admissions, visitor)) or stay_now(q, 'c', now_ms, visitor)
    if not peek then stay = claim_or_repeat(visitor, stay) end
    return answer_inside(i, stay, 0, peek and 0 or q.last)
  end

  local ticket = t_gen ~= 0 and t_gen == q.gen and not peek
  local ended_score, ended_at = nil, nil
  if ticket or mark_ms > 0 then ended_score, ended_at = mark_of(visitor) end
  if ticket then
    if t_score < LOTS then ticket = ended_score < 0 else ticket = ended_score < t_score end
  end

  if in_waiting[visitor] then
    if not peek then
      heard[#heard + 1] = visitor
      heard[#heard + 1] = live_s
      if ticket and t_score < in_waiting[visitor] then
        in_waiting[visitor], in_order = t_score, false
        new_scores[#new_scores + 1] = t_score
        new_scores[#new_scores + 1] = visitor
      end
    end
    return answer_waiting(i, visitor, 0, 0)
  end
  if q.state == 'closed' then
    answers[i] = { 'closed' }
    return
  end
  if q.grace == 1 and not peek and mark_ms > 0 and mark_ms <= q.activated and mark_ms > q.activated - q.session
    and now_ms < mark_ms + q.session and ended_at < mark_ms then
    local stay = stay_now(q, 'g', now_ms, visitor)
    enter(visitor, stay)
    add(q, 'nr', 1)
    add(q, 'carried', 1)
    show_up(q)
    return answer_inside(i, stay, 0, q.last)
  end
  if ticket then
    in_order = false
    queue_up(visitor, t_score)
    put(q, 'last', max(q.last, t_score))
    add(q, 'returned', 1)
    if t_epoch ~= q.epoch then add(q, 'restored', 1) end
    return answer_waiting(i, visitor, 0, 1)
  end
  if not create then
    answers[i] = { 'none' }
    return
  end
  if q.draining == 1 then
    answers[i] = { 'closed' }
    return
  end
  if q.max_waiting > 0 and q.nw >= q.max_waiting then
    answers[i] = { 'full' }
    return
  end
  if q.state == 'open' and q.nw == 0 and now_ms >= q.hold and q.held == 0 and rate(q) > 0 and q.tokens + 1e-9 >= 1 and q.debt == 0 and room(q, now_ms) >= 1 then
    put(q, 'tokens', max(0, q.tokens - 1))
    add(q, 'at_once', 1)
    add(q, 'joined', 1)
    add(q, 'admitted', 1)
    add(q, 'nr', 1)
    local stay = stay_now(q, 'a', now_ms, visitor)
    enter(visitor, stay)
    return answer_inside(i, stay, 1, q.last)
  end
  local score
  if q.state == 'prequeue' and q.random == 1 and lot > 0 then
    score = lot
    forget_place_mark(visitor)
  else
    score = max(q.last + 1, now_us)
    put(q, 'last', score)
  end
  queue_up(visitor, score)
  add(q, 'joined', 1)
  return answer_waiting(i, visitor, 1, 0)
end

for i = 1, n do ask(i) end
if #new_scores > 0 then call('ZADD', K.waiting, unpack(new_scores)) end
if #heard > 0 then call('HSET', K.heard, unpack(heard)) end

-- Scores, and places by the line as it is now. Newcomers in order stand at its end, those who came later in this batch behind.
local drawn = not (q.state == 'prequeue' and q.random == 1)
local last, behind
for i = n, 1, -1 do
  local a = answers[i]
  if a[1] == 'waiting' then
    a[4] = in_waiting[visitors[i]]
    if drawn then
      if a[2] == 1 and in_order then
        last, behind = last or call('ZCARD', K.waiting), (behind or -1) + 1
        a[5] = last - behind
      else
        a[5] = call('ZRANK', K.waiting, visitors[i]) + 1
      end
    end
  end
end
save(q)
return { header(q), counts(q, now_ms), now_ms, answers }
