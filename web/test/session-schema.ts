/**
 * Check of a record against crates/playback/session.schema.json, for its subset of JSON Schema.
 */

import { readFileSync } from 'node:fs';

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly maxProperties?: number;
}

/** Supported keywords. */
const KEYWORDS = new Set([
  ...['$schema', '$id', 'title', 'description', 'type', 'const', 'enum', 'pattern', 'maxLength', 'minimum', 'maximum'],
  ...['items', 'maxItems', 'properties', 'required', 'additionalProperties', 'maxProperties'],
]);

/** Returns the violations of the schema, each with its location. */
export function schemaErrors(value: unknown): string[] {
  const schema = JSON.parse(readFileSync('../crates/playback/session.schema.json', 'utf8')) as Schema;
  return check(value, schema, '');
}

function check(value: unknown, schema: Schema, at: string): string[] {
  const errors: string[] = [];
  const expect = (isValid: boolean, error: string) => {
    if (!isValid) errors.push(`${at === '' ? 'the record' : at} ${error}`);
  };
  for (const key of Object.keys(schema)) expect(KEYWORDS.has(key), `has the unsupported schema keyword ${key}`);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  expect(types.length === 0 || types.some((type) => isA(value, type)), `is not of type ${types.join(' or ')}`);
  expect(schema.const === undefined || value === schema.const, `is not ${schema.const}`);
  expect(schema.enum?.includes(value) ?? true, `is not one of ${schema.enum?.join(', ')}`);
  if (typeof value === 'string') {
    expect(schema.pattern === undefined || new RegExp(schema.pattern).test(value), `does not match ${schema.pattern}`);
    expect(!/\p{Surrogate}/u.test(value), 'has half of a surrogate pair, which is not valid JSON');
    expect(value.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY), 'is too long');
  } else if (typeof value === 'number') {
    expect(value >= (schema.minimum ?? Number.NEGATIVE_INFINITY), `is ${value}, too low`);
    expect(value <= (schema.maximum ?? Number.POSITIVE_INFINITY), `is ${value}, too high`);
  } else if (Array.isArray(value)) {
    expect(value.length <= (schema.maxItems ?? Number.POSITIVE_INFINITY), 'has too many items');
    const { items } = schema;
    if (items !== undefined) errors.push(...value.flatMap((item, index) => check(item, items, `${at}[${index}]`)));
  } else if (typeof value === 'object' && value !== null) {
    expect(Object.keys(value).length <= (schema.maxProperties ?? Number.POSITIVE_INFINITY), 'has too many members');
    for (const name of schema.required ?? []) expect(name in value, `lacks ${name}`);
    for (const [name, member] of Object.entries(value)) {
      const known = schema.properties?.[name];
      const additional = schema.additionalProperties ?? true;
      if (known !== undefined) errors.push(...check(member, known, `${at}.${name}`));
      else if (typeof additional === 'object') errors.push(...check(member, additional, `${at}.${name}`));
      else expect(additional, `has the unknown member ${name}`);
    }
  }
  return errors;
}

function isA(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      // The other types have their JavaScript names.
      return `${typeof value}` === type;
  }
}
