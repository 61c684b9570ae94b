import { describeScenarios, storeAt } from './describe-scenarios.ts'

const { HOLDFAST_TEST_ETCD_URL = '' } = process.env

describeScenarios(
  'the etcd store',
  storeAt(() => HOLDFAST_TEST_ETCD_URL),
  // It counts in whole seconds.
  { shortMs: 1000 },
)
