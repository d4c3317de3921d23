% Reads a .pogo-field file of version 1.07, which pogo-solve --pogo-files writes, in MATLAB or GNU Octave:
%   f = loadField('weld.out/weld.pogo-field');
%   scatter(f.nodeLocs(1, :), f.nodeLocs(2, :), 4, f.uy(:, end)')
% f.times in s, f.nodeNums (from 1), f.nodeLocs (dimensions x nodes, m), f.ux, f.uy and in 3D f.uz (nodes x times, m).
function f = loadField(path)
    file = fopen(path, 'r', 'ieee-le');
    if file < 0
        error('cannot open %s', path);
    end
    close_file = onCleanup(@() fclose(file));
    if ~strcmp(text(file, 20), '%pogo-field') || any(number(file, 'int32', 2) ~= [1; 7])
        error('%s is no .pogo-field file of version 1.07', path);
    end
    section(file, 'generalInfo', path);
    info = number(file, 'int32', 3);
    reals = {'float32', 'float64'};
    real = reals{info(1) / 4};
    section(file, 'nodes', path);
    n = number(file, 'int32', 1);
    f.nodeLocs = reshape(number(file, real, info(2) * n), info(2), n);
    f.nodeNums = number(file, 'int32', n) + 1;
    section(file, 'fieldStores', path);
    n_stores = number(file, 'int32', 1);
    f.times = zeros(n_stores, 1);
    components = {'ux', 'uy', 'uz'};
    components = components(1:info(3));
    for store = 1:n_stores
        f.times(store) = number(file, real, 1);
        for component = components
            f.(component{1})(:, store) = number(file, real, n);
        end
    end
end

% Sections stand in the file in a fixed order, so one that is not wanted is skipped.
function section(file, name, path)
    while true
        found = text(file, 40);
        head = number(file, 'int32', 1);
        bytes = number(file, 'int64', 1);
        if isempty(head) || isempty(bytes)
            error('%s has no section %s', path, name);
        end
        if strcmp(found, name)
            return
        end
        fseek(file, bytes, 'cof');
    end
end

function values = number(file, kind, n)
    values = double(fread(file, n, kind));
end

% Text up to its NUL, without blanks at its end.
function found = text(file, n)
    found = fread(file, [1, n], 'uint8');
    found = char(found(1:min([find(found == 0, 1) - 1, numel(found)])));
    found = regexprep(found, ' +$', '');
end
