/*
 * For authors of stores: real processes on a store, killed, stopped and cut off, and a referee that judges what they
 * saw. Needs Node. See `docs/testing.md`.
 *
 * Until version 1.1 this entry may change in a minor version.
 *
 * @module
 */
export { type Expectations, violations } from './checker.ts'
export { type CuttableProxy, cuttableProxy } from './cuttable-proxy.ts'
export { describeLifetime, type LifetimeOptions } from './describe-lifetime.ts'
export { describeTorture, type TortureOptions } from './describe-torture.ts'
export type { Observation } from './observation.ts'
export type { OpenedStore, OpenStore } from './store-module.ts'
