-- touch.lua: signs of life of many visitors of one item: heartbeats of waiting ones, renewals of those inside.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us   '' = the store's clock; else a virtual one (tests)
-- ARGV[2..]  six to a beat: kind (h, r), visitor, generation, issued_ms, ends_ms of the pass, requests (r)
-- Returns  {header, now_ms, beats (1-based) whose place is missing, those whose pass has ended as beat, until_ms, …}
-- Cost     O(n log N): n beats (at most 200), N the size of running
-- Why one script: who is carried into running must leave the line in the same step.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local q = load()
local missing, ended = {}, {}

local PER, FIRST = 6, 2
local n = (#ARGV - FIRST + 1) / PER
if q.state == 'off' then return { header(q), now_ms, missing, ended } end

local visitors = {}
for i = 1, n do visitors[i] = ARGV[FIRST + (i - 1) * PER + 1] end
local in_waiting, heard = {}, {}
for i, score in ipairs(call('ZMSCORE', K.waiting, unpack(visitors))) do in_waiting[visitors[i]] = tonumber(score) or nil end
local live_s = int(floor(live(q, now_ms) / 1000))

local function renew(i, visitor, generation, issued, ends, requests)
  local _, ended_at = mark_of(visitor)
  if generation < q.from or ended_at >= issued then
    if ended_at >= issued and not call('ZSCORE', K.running, visitor) then
      -- A node that had not heard of the end may have renewed this pass: that one ends too.
      mark(visitor, -1, now_ms)
      ended_at = max(ended_at, now_ms)
    end
    ended[#ended + 1] = i
    ended[#ended + 1] = max(issued, ended_at)
    return
  end
  local until_ms = ends + LEEWAY - lost(q, now_ms)
  if call('ZSCORE', K.running, visitor) then
    local stay = read_stay(call('HGET', K.admissions, visitor))
    if not stay then -- the store has lost it: the pass tells
      stay = { kind = 'c', admitted = now_ms, claimed = issued, issued = issued, ends = 0, requests = 0 }
    end
    stay.requests = stay.requests + requests
    if stay.claimed == 0 then
      stay.claimed, stay.issued, stay.ends = issued, issued, ends
      mark(visitor, q.last, -1)
      call('ZADD', K.running, until_ms, visitor)
    else
      stay.issued = max(stay.issued, issued)
      if ends > stay.ends then
        stay.ends = ends
        call('ZADD', K.running, 'GT', until_ms, visitor)
      end
    end
    call('HSET', K.admissions, visitor, write_stay(stay))
  elseif ends + LEEWAY > now_ms then
    call('ZADD', K.running, until_ms, visitor)
    call('HSET', K.admissions, visitor, write_stay({ kind = 'c', admitted = now_ms, claimed = issued, issued = issued,
      ends = ends, requests = requests }))
    add(q, 'nr', 1)
    add(q, 'carried', 1)
    show_up(q)
    local score = in_waiting[visitor]
    if score then
      mark(visitor, score, -1)
      in_waiting[visitor], heard[visitor] = nil, nil
      call('ZREM', K.waiting, visitor)
      call('HDEL', K.heard, visitor)
      add(q, 'nw', -1)
      add(q, 'left', 1)
    end
  end
end

for i = 1, n do
  local at = FIRST + (i - 1) * PER
  if ARGV[at] == 'h' then
    if in_waiting[visitors[i]] then
      heard[visitors[i]] = live_s
    else
      missing[#missing + 1] = i
    end
  else
    renew(i, visitors[i], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]),
      tonumber(ARGV[at + 5]))
  end
end
local seconds = {}
for visitor, second in pairs(heard) do
  seconds[#seconds + 1] = visitor
  seconds[#seconds + 1] = second
end
if #seconds > 0 then call('HSET', K.heard, unpack(seconds)) end
save(q)
return { header(q), now_ms, missing, ended }
