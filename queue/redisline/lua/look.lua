-- look.lua: how one queue, and one visitor of it, stands. Changes nothing but what time changes anyway.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us   '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  visitor  '' = none
-- Returns  {header, counts, now_ms, tokens, debt, last, hold_ms, requests, standing, let in per second, story}; standing is {} or
--          {'waiting', score, rank, heard ms} or {'inside', kind, admitted_ms, claimed_ms, issued_ms, pass_ends_ms,
--          requests}
-- Cost     O(log N) and what has left the traffic window
-- Why one script: header, counts and place must be of one instant.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local visitor = ARGV[2]
local q = load()
if q.exists then settle(q, now_us) end

-- People let in per second over the last ten to twenty seconds; -1 = not known yet.
local function measured()
  local at, n = q.m1_at, q.m1
  if q.m0_at > 0 then at, n = q.m0_at, q.m0 end
  if at == 0 or now_ms - at < 1000 then return -1 end
  return (q.admitted - n) * 1000 / (now_ms - at)
end

local standing = {}
if visitor ~= '' and q.state ~= 'off' then
  local ends = tonumber(call('ZSCORE', K.running, visitor) or nil)
  local score = tonumber(call('ZSCORE', K.waiting, visitor) or nil)
  if ends and ends > live(q, now_ms) then
    local lost_one = { kind = 'c', admitted = 0, claimed = 0, issued = 0, ends = 0, requests = 0 }
    standing = { 'inside', tell_stay(read_stay(call('HGET', K.admissions, visitor)) or lost_one) }
  elseif score then
    local second = tonumber(call('HGET', K.heard, visitor) or 0)
    local shown = q.state == 'prequeue' and q.random == 1 and 0 or call('ZRANK', K.waiting, visitor) + 1
    standing = { 'waiting', score, shown, second * 1000 + lost(q, now_ms) }
  end
end
local requests = window_sum(K.traffic, now_ms, window_of(K.traffic))
return { header(q), counts(q, now_ms), now_ms, text(q.tokens), q.debt, q.last, q.hold, text(requests), standing,
  text(measured()), story(q, q.state == 'off') }
