-- end.lua: what one visitor has at one item ends: leave the line, finish or revoke the session.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us   '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  kind     l = leave, f = finish, r = revoke
-- ARGV[3]  visitor
-- Returns  {header, now_ms, was waiting, was running, score up to which tickets have ended}
-- Cost     O(log N)
-- Why one script: the mark that ends tickets and passes must stand before the place is gone.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local kind, visitor = ARGV[2], ARGV[3]
local q = load()
if not q.exists then return { header(q), now_ms, 0, 0, 0 } end

local score = tonumber(call('ZSCORE', K.waiting, visitor) or nil)
local inside = call('ZSCORE', K.running, visitor)
local was_waiting, was_running = 0, 0

local ended = score and max(score, q.last) or q.last
mark(visitor, ended, kind == 'l' and -1 or now_ms)
if q.state == 'off' then call('EXPIRE', K.ended, max(KEEP_OFF, math.ceil((q.session + LEEWAY) / 1000))) end

if score and kind ~= 'f' then
  call('ZREM', K.waiting, visitor)
  call('HDEL', K.heard, visitor)
  add(q, 'nw', -1)
  add(q, 'left', 1)
  was_waiting = 1
end
if inside and kind ~= 'l' then
  call('ZREM', K.running, visitor)
  call('HDEL', K.admissions, visitor)
  add(q, 'nr', -1)
  if kind == 'f' then
    call('ZADD', K.finished, now_ms, visitor)
    add(q, 'finished', 1)
  else
    add(q, 'revoked', 1)
  end
  was_running = 1
end
if q.nw == 0 and q.empty_at == 0 then put(q, 'empty_at', now_ms) end
save(q)
return { header(q), now_ms, was_waiting, was_running, ended }
