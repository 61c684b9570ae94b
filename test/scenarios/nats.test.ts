import { describeScenarios, storeAt } from './describe-scenarios.ts'

const { HOLDFAST_TEST_NATS_URL = '' } = process.env

describeScenarios(
  'the NATS store',
  storeAt(() => HOLDFAST_TEST_NATS_URL),
)
