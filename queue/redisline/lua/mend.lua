-- mend.lua: keys of an item that are not what a line writes are let go of; what the line has lost with them is a loss like any.
-- KEYS[1..11]   the keys of the line, see prelude.lua
-- KEYS[12]      zset of idempotency keys
-- KEYS[13..37]  25 HyperLogLogs of active visitors
-- Returns  1 where the queue itself is sound; 0 where it is not, and only a node that knows it can put it back
-- Cost     O(1)
-- Why one script: whoever finds the keys gone must find the mark of the loss too.

local lost = mend()
if call('TYPE', KEYS[12]).ok ~= 'zset' then call('UNLINK', KEYS[12]) end
for i = 13, #KEYS do
  local count = redis.pcall('PFCOUNT', KEYS[i])
  if type(count) == 'table' then call('UNLINK', KEYS[i]) end
end
if not queue_is_sound() then return { 0 } end
local q = load()
if lost and q.state ~= 'off' then put(q, 'damaged', 1) end
save(q)
return { 1 }
