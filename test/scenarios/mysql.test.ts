import { describeScenarios, storeAt } from './describe-scenarios.ts'

const { HOLDFAST_TEST_MYSQL_URL = '' } = process.env

describeScenarios(
  'the MySQL store',
  storeAt(() => HOLDFAST_TEST_MYSQL_URL),
)
