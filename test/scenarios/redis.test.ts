import { describeScenarios, storeAt } from './describe-scenarios.ts'

const { HOLDFAST_TEST_REDIS_URL = '' } = process.env

describeScenarios(
  'the Redis store',
  storeAt(() => HOLDFAST_TEST_REDIS_URL),
)
