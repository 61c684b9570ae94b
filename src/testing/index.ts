export { type ChaosOptions, type ChaosStore, chaosStore, type Faults } from './chaos-store.ts'
export { type DescribeStoreOptions, describeStore, type StoreHarness } from './describe-store.ts'
export {
  type FakeAreaName,
  type FakeBrowser,
  type FakeBrowserOptions,
  type FakeContext,
  fakeBrowser,
} from './fake-browser/index.ts'
export { FakeClock } from './fake-clock.ts'
export { mutateStore, type StoreMistake, storeMistakes } from './mutants/index.ts'
export type { RunCase, TestRunner } from './runner.ts'
export { skewDate } from './skew-date.ts'
