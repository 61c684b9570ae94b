import { describeScenarios, storeAt } from './describe-scenarios.ts'

const { HOLDFAST_TEST_POSTGRES_URL = '' } = process.env

describeScenarios(
  'the Postgres store',
  storeAt(() => HOLDFAST_TEST_POSTGRES_URL),
)
