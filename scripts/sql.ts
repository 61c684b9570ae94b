/**
 * `npm run -s sql -- postgres` and `npm run -s sql -- mysql`: prints the functions of the lease tables with their default
 * names, to be read by a tool for SQL, or pasted into `psql` or `mysql` and tried.
 */
import { namesOf as mysqlNames } from '../src/stores/mysql/names.ts'
import { procedureTexts } from '../src/stores/mysql/schema.ts'
import { DEFAULT_TABLE } from '../src/stores/options.ts'
import { functionTexts } from '../src/stores/postgres/install-script.ts'
import { namesOf as postgresNames } from '../src/stores/postgres/names.ts'

const [backend] = process.argv.slice(2)
if (backend === 'postgres')
  console.log(
    functionTexts(postgresNames('public', DEFAULT_TABLE)).replaceAll(
      /^create function/gm,
      'create or replace function',
    ),
  )
else if (backend === 'mysql')
  console.log(
    `delimiter //\n${procedureTexts(mysqlNames(undefined, DEFAULT_TABLE)).join('\n//\n')}\n//\ndelimiter ;`,
  )
else {
  console.error('npm run -s sql -- <postgres|mysql>')
  process.exitCode = 64
}
