-- sample.lua: the scores of some ranks of a line, about 1 % of the rank apart, for positions shown far from the head.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us  '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  first   the rank to begin with, integer
-- ARGV[3]  most    most samples in this call, integer
-- Returns  {header, now_ms, people waiting, scores, next}: the scores of the ranks of queue.SampleRanks from the first on, in
--          order; next is the rank to go on with, 0 = that was the end of the line
-- Cost     O(most log N): 4 us a sample where N is 1,000,000
-- Why one script: hundreds of commands a second for each node are dearer than a few.

local now_us = clock(ARGV[1])
local q = load()
local rank, most, scores = tonumber(ARGV[2]), tonumber(ARGV[3]), {}
local waiting = call('ZCARD', K.waiting)

local function sample(rank) scores[#scores + 1] = call('ZRANGE', K.waiting, rank - 1, rank - 1, 'WITHSCORES')[2] end

while rank < waiting and #scores < most do
  sample(rank)
  rank = rank + max(floor(rank / 100), 1)
end
local ended = rank >= waiting
if ended and waiting > 0 then sample(waiting) end
return { header(q), floor(now_us / 1000), waiting, scores, ended and 0 or rank }
