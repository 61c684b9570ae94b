export { type ChaosOptions, type ChaosStore, chaosStore, type Faults } from './chaos-store.ts'
export { type DescribeStoreOptions, describeStore, type StoreHarness } from './describe-store.ts'
export { FakeClock } from './fake-clock.ts'
