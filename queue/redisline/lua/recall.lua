-- recall.lua: a node remembers ends that the store may have lost: places and passes that ended stay so.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us      '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  generation  that the scores belong to
-- ARGV[3..]  three to a mark: visitor, score up to which tickets have ended (-1 = none), instant (ms) up to which passes
--            have (-1 = none)
-- Returns  {header, now_ms, places that had come back, sessions that had}
-- Cost     O(n log N): n marks (at most 200), N the larger set
-- Why one script: a place that came back while the mark was missing must not stay beside it.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local q = load()
local left, finished = 0, 0
if q.state == 'off' then return { header(q), now_ms, 0, 0 } end
local same = tonumber(ARGV[2]) == q.gen

local visitors, places, stays = {}, {}, {}
for at = 3, #ARGV, 3 do visitors[#visitors + 1] = ARGV[at] end
local marks = marks_of(visitors)
for i, score in ipairs(call('ZMSCORE', K.waiting, unpack(visitors))) do places[visitors[i]] = tonumber(score) or nil end
for i, stay in ipairs(call('HMGET', K.admissions, unpack(visitors))) do stays[visitors[i]] = read_stay(stay) end

for at = 3, #ARGV, 3 do
  local visitor, score, until_ms = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if not same then score = -1 end
  if score >= 0 or until_ms >= 0 then marks.add(visitor, score, until_ms) end
  local place = places[visitor]
  -- A lot tells nothing of when: it may have been drawn again since.
  if place and place >= LOTS and place <= score then
    call('ZREM', K.waiting, visitor)
    call('HDEL', K.heard, visitor)
    places[visitor] = nil
    left = left + 1
  end
  local stay = stays[visitor]
  if until_ms >= 0 and stay and stay.claimed > 0 and stay.issued <= until_ms then
    call('ZREM', K.running, visitor)
    call('HDEL', K.admissions, visitor)
    call('ZADD', K.finished, now_ms, visitor)
    stays[visitor] = nil
    finished = finished + 1
  end
end
marks.save()
add(q, 'nw', -left)
add(q, 'left', left)
add(q, 'nr', -finished)
add(q, 'finished', finished)
if q.nw == 0 and q.empty_at == 0 then put(q, 'empty_at', now_ms) end
save(q)
return { header(q), now_ms, left, finished }
