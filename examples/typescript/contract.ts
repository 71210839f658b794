// Holds the client's types against those that are made of the contract, /openapi.json: it compiles only while they are the
// same.
import type { Answer, Pass, Place, Reason, Renewal } from './sluice';
import type { components } from './openapi';

type Contract = components['schemas'];
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

export const same: [
  Same<Answer, Contract['Answer']>, Same<Place, Contract['Place']>, Same<Pass, Contract['Pass']>,
  Same<Reason, Contract['Reason']>, Same<Renewal, Contract['Renewals']['passes'][number]>,
] = [true, true, true, true, true];
